/// Reads numbers that were typed.
enum NumberArgument {
    /// A TCP port; 0 lets the system choose one.
    static func port(_ text: String) throws(UsageError) -> UInt16 {
        guard isDigits(text), let port = UInt16(text) else {
            throw UsageError("“\(DisplayText.safe(text))” is not a port", hint: "Type a number from 0 to 65535")
        }
        return port
    }

    /// How many of something, 1 or more.
    static func count(_ text: String, _ option: String) throws(UsageError) -> Int {
        guard isDigits(text), let number = Int(text), number > 0 else {
            throw UsageError(
                "“\(DisplayText.safe(text))” is not a number for \(option)", hint: "Type a whole number from 1")
        }
        return number
    }

    static func isDigits(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
