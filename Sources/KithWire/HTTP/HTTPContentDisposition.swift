/// What `Content-Disposition` says of a part of a body (RFC 6266).
public enum HTTPContentDisposition {
    /// The file name, when one is given in quotes or as a word.
    public static func fileName(_ value: String) -> String? {
        // Read as a media type, which has the same parameters.
        guard let semicolon = value.utf8.firstIndex(of: UInt8(ascii: ";")) else { return nil }
        return HTTPMediaType("x/x" + value[semicolon...])?[parameter: "filename"]
    }

    /// `attachment; filename="…"`.
    public static func attachment(fileName: String) -> String {
        var text = "attachment; filename=\""
        for scalar in fileName.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { text += "\\" }
            // A line end would begin another field.
            text.unicodeScalars.append(scalar.value < 0x20 || scalar.value == 0x7F ? " " : scalar)
        }
        return text + "\""
    }
}
