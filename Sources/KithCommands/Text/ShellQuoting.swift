/// Writes a word so that a shell reads it back as the same word.
///
/// Commands that the program suggests hold names that others chose; pasted into a shell they must do nothing else.
enum ShellQuoting {
    /// The word as it is when every byte is harmless, else in quotes.
    static func quote(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "+"), UInt8(ascii: "@"), UInt8(ascii: ","):
                true
            default: byte >= 0x80
            }
        }
        if isPlain, !word.isEmpty, word.utf8.first != UInt8(ascii: "-") { return DisplayText.safe(word) }
        var quoted = "'"
        for scalar in word.unicodeScalars {
            if scalar == "'" { quoted += "'\\''" } else { quoted.unicodeScalars.append(scalar) }
        }
        return DisplayText.safe(quoted + "'")
    }
}
