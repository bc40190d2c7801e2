/// Finds the elements of a JSON array in a stream of bytes, so that a long list needs memory for one element only.
///
/// It looks at brackets and strings and nothing else: each element is still to be parsed, which finds every other
/// fault in it.
struct JSONElementSplitter {
    /// Why the bytes cannot be a list.
    enum Fault: Error, Equatable {
        /// An element is larger than the limit.
        case tooLarge
        /// More brackets were closed than opened, or something follows the list.
        case malformed
        /// The bytes end inside the list.
        case incomplete
    }

    private let arrayDepth: Int
    private let elementBytesMax: Int
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var isInArray = false
    private var isDone = false
    private var element: [UInt8] = []
    private var elementLine = 1
    /// The line that is being read, from 1.
    private(set) var line = 1

    /// Makes a splitter.
    ///
    /// - Parameter arrayDepth: 1 for text that is an array; 2 for an object with one array among its members, as the
    ///   answers of `_all_docs` and `_changes` are.
    init(arrayDepth: Int, elementBytesMax: Int) {
        self.arrayDepth = arrayDepth
        self.elementBytesMax = elementBytesMax
    }

    /// Takes bytes and calls back with each element and the line on which it began.
    mutating func receive(
        _ bytes: some Sequence<UInt8>, _ onElement: (_ element: [UInt8], _ line: Int) throws -> Void
    ) throws {
        for byte in bytes {
            if byte == UInt8(ascii: "\n") { line += 1 }
            if isDone, arrayDepth == 1 {
                guard Self.isSpace(byte) else { throw Fault.malformed }
                continue
            }
            if isInString {
                try keep(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""):
                isInString = true
                try keep(byte)
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                if !isInArray, !isDone, depth == arrayDepth - 1, byte == UInt8(ascii: "[") {
                    isInArray = true
                } else {
                    try keep(byte)
                }
                depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                guard depth >= 0 else { throw Fault.malformed }
                if isInArray, depth == arrayDepth - 1 {
                    try end(onElement)
                    isInArray = false
                    isDone = true
                } else {
                    try keep(byte)
                }
            case UInt8(ascii: ",") where isInArray && depth == arrayDepth:
                try end(onElement)
            default:
                try keep(byte)
            }
        }
    }

    /// Says that no more bytes come.
    func finish() throws {
        guard isDone, depth == 0 else { throw Fault.incomplete }
    }

    private mutating func keep(_ byte: UInt8) throws {
        guard isInArray else { return }
        if element.isEmpty {
            if Self.isSpace(byte) { return }
            elementLine = line
        }
        guard element.count < elementBytesMax else { throw Fault.tooLarge }
        element.append(byte)
    }

    private mutating func end(_ onElement: ([UInt8], Int) throws -> Void) throws {
        guard !element.isEmpty else { return }
        let bytes = element
        element.removeAll(keepingCapacity: true)
        try onElement(bytes, elementLine)
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}
