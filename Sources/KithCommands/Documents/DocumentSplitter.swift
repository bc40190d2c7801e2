/// Finds the documents in what `import` reads: one on each line, or the elements of one JSON array.
///
/// Which of the two it is, the first character says: `[` begins an array, since a document is an object.
struct DocumentSplitter {
    private enum Mode {
        case undecided
        case lines(LineSplitter)
        case array(JSONElementSplitter)
    }

    private let documentBytesMax: Int
    private var mode = Mode.undecided
    private var line = 0

    init(documentBytesMax: Int) { self.documentBytesMax = documentBytesMax }

    /// The line that is being read, from 1.
    var currentLine: Int {
        if case .array(let splitter) = mode { line + splitter.line } else { line + 1 }
    }

    /// Takes bytes and calls back with each document and its line, counted from 1. Empty lines are passed over.
    ///
    /// - Throws: `JSONElementSplitter.Fault`, in an array only: no document after the fault can be found.
    mutating func receive(_ bytes: [UInt8], _ onDocument: (_ bytes: [UInt8], _ line: Int) throws -> Void) throws {
        var rest = bytes[...]
        if case .undecided = mode {
            // A byte order mark is not JSON (RFC 8259 §8.1), but editors write it.
            if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
            guard let first = rest.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) else {
                line += rest.count { $0 == 0x0A }
                return
            }
            if first == UInt8(ascii: "[") {
                line += rest.prefix { $0 != first }.count { $0 == 0x0A }
                rest = rest.drop { $0 != first }
                mode = .array(JSONElementSplitter(arrayDepth: 1, elementBytesMax: documentBytesMax))
            } else {
                mode = .lines(LineSplitter(lineBytesMax: documentBytesMax))
            }
        }
        switch mode {
        case .undecided: break
        case .lines(var splitter):
            mode = .undecided
            var number = line
            defer { line = number }
            try splitter.receive(rest) { (bytes) throws in
                number += 1
                try Self.hand(bytes, number, onDocument)
            }
            mode = .lines(splitter)
        case .array(var splitter):
            mode = .undecided
            defer { mode = .array(splitter) }
            let before = line
            try splitter.receive(rest) { bytes, number in try onDocument(bytes, before + number) }
        }
    }

    /// Says that no more bytes come.
    mutating func finish(_ onDocument: (_ bytes: [UInt8], _ line: Int) throws -> Void) throws {
        switch mode {
        case .undecided: break
        case .lines(var splitter):
            let number = line + 1
            try splitter.finish { (bytes) throws in try Self.hand(bytes, number, onDocument) }
        case .array(let splitter): try splitter.finish()
        }
    }

    private static func hand(_ bytes: [UInt8], _ line: Int, _ onDocument: ([UInt8], Int) throws -> Void) throws {
        if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { return }
        try onDocument(bytes, line)
    }
}
