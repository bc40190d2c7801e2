/// Makes random JSON texts together with the canonical form that they must get, which is made in the simplest way there is:
/// a tree, a sort, and texts of numbers from a list.
struct JSONTextMaker {
    var random: SeededGenerator

    /// A text with blanks, escapes and keys in any order, and its canonical form.
    mutating func text(depth: Int = 4) -> (messy: [UInt8], canonical: [UInt8]) {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &random) {
        case 0:
            let word = Array(random.pick(["true", "false", "null"]).utf8)
            return (word, word)
        case 1: return integer()
        case 2:
            let (written, expected) = random.pick(Self.numbers)
            return (Array(written.utf8), Array(expected.utf8))
        case 3, 4:
            let scalars = scalars()
            return (spelled(scalars), plain(scalars))
        case 5: return array(depth)
        default: return object(depth)
        }
    }

    private mutating func integer() -> (messy: [UInt8], canonical: [UInt8]) {
        var digits = [UInt8(ascii: "1") + UInt8.random(in: 0..<9, using: &random)]
        for _ in 0..<Int.random(in: 0..<30, using: &random) {
            digits.append(UInt8(ascii: "0") + .random(in: 0...9, using: &random))
        }
        if random.chance(3) { digits.insert(UInt8(ascii: "-"), at: 0) }
        return (digits, digits)
    }

    private mutating func array(_ depth: Int) -> (messy: [UInt8], canonical: [UInt8]) {
        var messy = [UInt8(ascii: "[")]
        var canonical = messy
        for index in 0..<Int.random(in: 0...4, using: &random) {
            if index > 0 {
                messy.append(UInt8(ascii: ","))
                canonical.append(UInt8(ascii: ","))
            }
            let element = text(depth: depth - 1)
            messy += blanks() + element.messy + blanks()
            canonical += element.canonical
        }
        return (messy + blanks() + [UInt8(ascii: "]")], canonical + [UInt8(ascii: "]")])
    }

    private mutating func object(_ depth: Int) -> (messy: [UInt8], canonical: [UInt8]) {
        var members: [(key: [UInt8], messy: [UInt8], canonical: [UInt8])] = []
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            let scalars = scalars()
            let key = scalars.flatMap { Array(String($0).utf8) }
            guard !members.contains(where: { $0.key == key }) else { continue }
            let value = text(depth: depth - 1)
            let colon = [UInt8(ascii: ":")]
            members.append(
                (
                    key, blanks() + spelled(scalars) + blanks() + colon + blanks() + value.messy + blanks(),
                    plain(scalars) + colon + value.canonical
                ))
        }
        if random.chance(2) { members.sort { $0.key.lexicographicallyPrecedes($1.key) } }
        let messy = members.map(\.messy).joined(separator: ",".utf8)
        members.sort { $0.key.lexicographicallyPrecedes($1.key) }
        let canonical = members.map(\.canonical).joined(separator: ",".utf8)
        return ([UInt8(ascii: "{")] + messy + "}".utf8, [UInt8(ascii: "{")] + canonical + "}".utf8)
    }

    private mutating func blanks() -> [UInt8] {
        random.chance(3) ? Array(random.pick([" ", "\n", "\t", "\r\n", "   "]).utf8) : []
    }

    private mutating func scalars() -> [Unicode.Scalar] {
        (0..<Int.random(in: 0...14, using: &random)).map { _ in
            random.pick([
                "a", "b", "c", "_", "Z", "0", " ", "\"", "\\", "/", "\0", "\u{1}", "\u{1F}", "\n", "\t", "\u{7F}", "é",
                "e",
                "\u{301}", "\u{2028}", "\u{FEFF}", "\u{FFFF}", "中", "😄", "\u{10FFFF}", "\u{D7FF}", "\u{E000}",
            ])
        }
    }

    private func plain(_ scalars: [Unicode.Scalar]) -> [UInt8] {
        var text = "\""
        for scalar in scalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\t": text += "\\t"
            case "\0": text += "\\u0000"
            case "\u{1}": text += "\\u0001"
            case "\u{1F}": text += "\\u001f"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return Array((text + "\"").utf8)
    }

    private mutating func spelled(_ scalars: [Unicode.Scalar]) -> [UInt8] {
        var result = [UInt8(ascii: "\"")]
        for scalar in scalars {
            if random.chance(4) {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16, uppercase: random.chance(2))
                    result += Array("\\u".utf8) + Array(repeating: UInt8(ascii: "0"), count: 4 - digits.utf8.count)
                    result += Array(digits.utf8)
                }
            } else if scalar == "/", random.chance(2) {
                result += Array("\\/".utf8)
            } else {
                result += plain([scalar]).dropFirst().dropLast()
            }
        }
        return result + "\"".utf8
    }

    /// Numbers as they are written, and their canonical text.
    static let numbers: [(String, String)] = [
        ("0", "0"), ("-0", "0"), ("0.0", "0"), ("-0.0", "0"), ("0e5", "0"), ("-0E-9", "0"), ("1e-400", "0"),
        ("-1e-400", "0"),
        ("1.0", "1"), ("1e0", "1"), ("10e-1", "1"), ("0.1e1", "1"), ("1E2", "100"), ("-1.50e1", "-15"),
        ("100.000", "100"),
        ("1e14", "100000000000000"), ("9e15", "9000000000000000"), ("-9e15", "-9000000000000000"),
        ("9007199254740991.0", "9007199254740991"), ("9007199254740992.0", "9.007199254740992e+15"),
        ("9007199254740993.0", "9.007199254740992e+15"), ("9007199254740992", "9007199254740992"),
        ("9007199254740993", "9007199254740993"), ("1e16", "1e+16"), ("1e22", "1e+22"), ("1.2345e+30", "1.2345e+30"),
        ("0.5", "0.5"), ("5e-1", "0.5"), ("0.000001", "0.000001"), ("1e-6", "0.000001"), ("0.0000001", "1e-7"),
        ("1.5e-7", "1.5e-7"), ("0.10", "0.1"), ("0.1", "0.1"), ("0.30000000000000004", "0.30000000000000004"),
        ("0.3000000000000000444", "0.30000000000000004"), ("0.3333333333333333", "0.3333333333333333"),
        ("1.0000000000000002", "1.0000000000000002"), ("27874302100000.5", "27874302100000.5"),
        ("5e-324", "5e-324"), ("4.9406564584124654e-324", "5e-324"),
        ("2.2250738585072014e-308", "2.2250738585072014e-308"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"), ("17976931348623157e292", "1.7976931348623157e+308"),
        ("123456789012345678.5", "1.2345678901234568e+17"), ("0.1000000000000000055511151231257827", "0.1"),
        ("123.456", "123.456"), ("1234567.125", "1234567.125"), ("-2.5e-3", "-0.0025"),
    ]
}
