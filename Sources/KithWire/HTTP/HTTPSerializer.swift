/// Writes the parts of HTTP messages that are the same in requests and responses.
enum HTTPSerializer {
    /// Appends text in which every control character becomes a space, so that no value can begin a new line.
    static func appendText(_ text: String, to out: inout [UInt8]) {
        for byte in text.utf8 { out.append(ASCII.isFieldValue(byte) ? byte : ASCII.space) }
    }

    /// Appends the fields and the empty line that ends the head.
    static func appendFields(_ headers: HTTPHeaders, to out: inout [UInt8]) {
        for field in headers.fields {
            appendText(field.name, to: &out)
            out.append(ASCII.colon)
            out.append(ASCII.space)
            appendText(field.value, to: &out)
            out.append(ASCII.cr)
            out.append(ASCII.lf)
        }
        out.append(ASCII.cr)
        out.append(ASCII.lf)
    }
}
