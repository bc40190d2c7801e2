/// A media type with its parameters, as `Content-Type` and the members of `Accept` have it (RFC 9110 §8.3.1).
public struct HTTPMediaType: Sendable, Equatable {
    /// `type/subtype` in lower case; in `Accept` either may be `*`.
    public let name: String
    /// The parameters in order, their names in lower case, their values without quotes.
    public let parameters: [Parameter]

    /// One parameter.
    public struct Parameter: Sendable, Equatable {
        /// The name in lower case.
        public let name: String
        /// The value without quotes.
        public let value: String
    }

    /// Reads `type/subtype; name=value; name="value"`; `nil` when it is nothing like that.
    public init?(_ text: String) {
        let pieces = Self.split(text, at: UInt8(ascii: ";"))
        let name = Self.lowercased(Self.trimmed(pieces[0]))
        let words = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard words.count == 2, words.allSatisfy({ !$0.isEmpty && $0.allSatisfy(ASCII.isToken) }) else { return nil }
        self.name = name
        var parameters: [Parameter] = []
        for piece in pieces.dropFirst() {
            guard let equals = piece.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            parameters.append(
                Parameter(
                    name: Self.lowercased(Self.trimmed(String(piece[..<equals]))),
                    value: Self.unquoted(Self.trimmed(String(piece[piece.utf8.index(after: equals)...])))))
        }
        self.parameters = parameters
    }

    /// The value of the first parameter of this name, which is in lower case.
    public subscript(parameter name: String) -> String? {
        parameters.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// Whether a client that sent these values of `Accept` takes a media type; without any it takes everything.
    ///
    /// - Parameter name: in lower case.
    public static func isAccepted(_ name: String, by accept: [String]) -> Bool {
        let members = accept.flatMap { split($0, at: UInt8(ascii: ",")) }.compactMap { HTTPMediaType(trimmed($0)) }
        guard !members.isEmpty else { return true }
        let type = name.utf8.prefix { $0 != UInt8(ascii: "/") }
        var best: (precision: Int, isAccepted: Bool) = (-1, false)
        for member in members {
            let precision: Int
            if member.name.utf8.elementsEqual(name.utf8) {
                precision = 2
            } else if member.name.utf8.elementsEqual(Array(type) + Array("/*".utf8)) {
                precision = 1
            } else if member.name.utf8.elementsEqual("*/*".utf8) {
                precision = 0
            } else {
                continue
            }
            // A weight of zero says no (RFC 9110 §12.4.2); the others only order what is taken.
            let weight = member[parameter: "q"].map { $0.utf8.contains { $0 >= 0x31 && $0 <= 0x39 } } ?? true
            if precision > best.precision || (precision == best.precision && weight) { best = (precision, weight) }
        }
        return best.isAccepted
    }

    /// The pieces between separators that do not stand in quotes.
    private static func split(_ text: String, at separator: UInt8) -> [String] {
        var pieces: [[UInt8]] = [[]]
        var isQuoted = false
        var isEscaped = false
        for byte in text.utf8 {
            if byte == separator, !isQuoted {
                pieces.append([])
                continue
            }
            if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && byte == UInt8(ascii: "\\") && !isEscaped
            pieces[pieces.count - 1].append(byte)
        }
        return pieces.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func trimmed(_ text: String) -> String {
        var rest = text[...]
        while let first = rest.utf8.first, first == ASCII.space || first == ASCII.tab { rest.removeFirst() }
        while let last = rest.utf8.last, last == ASCII.space || last == ASCII.tab { rest.removeLast() }
        return String(rest)
    }

    private static func lowercased(_ text: String) -> String {
        String(decoding: text.utf8.map(ASCII.lowercased), as: UTF8.self)
    }

    private static func unquoted(_ text: String) -> String {
        guard text.utf8.count >= 2, text.utf8.first == UInt8(ascii: "\""), text.utf8.last == UInt8(ascii: "\"") else {
            return text
        }
        var out: [UInt8] = []
        var isEscaped = false
        for byte in text.utf8.dropFirst().dropLast() {
            if byte == UInt8(ascii: "\\"), !isEscaped {
                isEscaped = true
                continue
            }
            isEscaped = false
            out.append(byte)
        }
        return String(decoding: out, as: UTF8.self)
    }
}
