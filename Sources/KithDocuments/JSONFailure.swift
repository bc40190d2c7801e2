/// Why a text is not a JSON text that can be kept, and where; small, so that throwing costs nothing.
struct JSONFailure: Error {
    enum Kind: UInt8 {
        case unexpectedEnd, unexpectedByte, trailingBytes, notAnObject
        case controlCharacter, badEscape, loneSurrogate, badUTF8, byteOrderMark
        case badNumber, infiniteNumber, longNumber
        case duplicateKey, tooDeep, reservedName, tooLarge
    }

    let kind: Kind
    /// Offset of the offending byte, from 0.
    let offset: Int

    /// The error for people: what is wrong and at which byte and line, both counted from 1. Of the text itself only the
    /// name of a reserved property is told.
    func error(in bytes: UnsafeRawBufferPointer) -> KithError {
        if kind == .tooLarge {
            return KithError(
                .tooLarge, "the JSON text has \(bytes.count) bytes, the most is \(DocumentLimits.documentBytesMax)")
        }
        let end = min(offset, bytes.count)
        let line = bytes[..<end].count { $0 == UInt8(ascii: "\n") } + 1
        let place = "at byte \(offset + 1), line \(line)"
        if kind == .reservedName {
            return KithError(
                .badDocument, "the property \(JSONKey.name(at: offset, in: bytes)) is reserved, \(place)",
                remedy: "Top-level names do not begin with _; leave it out, or put it one level down")
        }
        return KithError(.badDocument, "\(what) \(place)")
    }

    private var what: String {
        switch kind {
        case .unexpectedEnd: "the JSON text ends too early,"
        case .unexpectedByte: "this is not JSON: an unexpected character"
        case .trailingBytes: "this is not JSON: something follows the value"
        case .notAnObject: "a document is a JSON object, and this is none,"
        case .controlCharacter: "a control character in a JSON string is not escaped"
        case .badEscape: "a JSON string has an escape that there is not,"
        case .loneSurrogate: "a JSON string has half of a surrogate pair,"
        case .badUTF8: "the JSON text is not valid UTF-8"
        case .byteOrderMark: "the JSON text begins with a byte order mark,"
        case .badNumber: "this is not a JSON number,"
        case .infiniteNumber: "a number is too large for a double,"
        case .longNumber: "a number has more than \(DocumentLimits.numberCharactersMax) digits"
        case .duplicateKey: "an object has the same key twice"
        case .tooDeep: "arrays and objects are nested more than \(DocumentLimits.nestingLevelsMax) deep"
        case .reservedName, .tooLarge: "the JSON text cannot be kept,"
        }
    }
}
