/// The canonical text of a JSON number that is not written as an integer.
///
/// The number is the double it denotes. When that double is integral and below 2^53 in size, it is written as plain
/// digits; else with the fewest digits that read back to the same double, laid out as RFC 8785 (JSON Canonicalization
/// Scheme) does, except that an integral double of 2^53 and more always has an exponent: so it is never taken for an
/// exact integer, which it may not be.
struct NumberText {
    /// Significant digits without zeros at either end, as a number; 0 for zero.
    private var digits: UInt64 = 0
    /// How many digits there are.
    private var count = 0
    /// The power of ten of the first digit: 1.5e3 has 3.
    private var exponent = 0
    private var isNegative = false

    /// Bytes that `write` needs at most: sign, 17 digits, point, and up to 6 zeros or an exponent of 5 characters.
    static let bytesMax = 32

    /// Integral doubles below this are plain digits.
    static let exactIntegersEnd: UInt64 = 1 << 53

    /// The double that a number's text denotes.
    enum Reading {
        case number(NumberText)
        case infinite
    }

    /// Reads a text that has the grammar of a JSON number.
    static func read(_ text: UnsafeBufferPointer<UInt8>) -> Reading {
        if let number = NumberText(decimal: text) {
            // At most 15 digits in the range of normal doubles: different decimals of this length are different
            // doubles, so these digits are the shortest that read back, and no double need be made.
            if number.count <= 15, number.exponent > -290, number.exponent < 290 { return .number(number) }
        }
        guard let double = Double(String(decoding: text, as: UTF8.self)), double.isFinite else { return .infinite }
        return .number(NumberText(double))
    }

    /// The text of a finite double.
    init(_ double: Double) {
        var description = double.description
        self = description.withUTF8 { NumberText(decimal: $0) } ?? NumberText()
    }

    private init() {}

    /// Takes a decimal number apart; `nil` when it has more digits than fit.
    private init?(decimal text: UnsafeBufferPointer<UInt8>) {
        var point: Int?
        // Digits from the first that is not zero on, and the place value of the last one taken.
        var taken = 0
        var place = 0
        var index = 0
        if text[0] == UInt8(ascii: "-") {
            isNegative = true
            index = 1
        }
        while index < text.count {
            let byte = text[index]
            let digit = byte &- UInt8(ascii: "0")
            if digit < 10 {
                if point != nil { place -= 1 }
                if digits > 0 || digit > 0 {
                    guard taken < 19 else { return nil }
                    digits = digits * 10 + UInt64(digit)
                    taken += 1
                }
            } else if byte == UInt8(ascii: ".") {
                point = index
            } else {
                break
            }
            index += 1
        }
        guard digits > 0 else {
            isNegative = false
            return
        }
        if index < text.count { place += Self.exponentValue(UnsafeBufferPointer(rebasing: text[(index + 1)...])) }
        while digits % 10 == 0 {
            digits /= 10
            taken -= 1
            place += 1
        }
        count = taken
        exponent = place + taken - 1
    }

    /// The value of an exponent's text, held within a range in which nothing overflows.
    private static func exponentValue(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        var value = 0
        for byte in text where byte != UInt8(ascii: "+") && byte != UInt8(ascii: "-") {
            value = min(value * 10 + Int(byte &- UInt8(ascii: "0")), 1_000_000)
        }
        return text.first == UInt8(ascii: "-") ? -value : value
    }

    /// Writes the text and gives its length, at most `bytesMax`.
    func write(to output: UnsafeMutablePointer<UInt8>) -> Int {
        var end = output
        func put(_ byte: UInt8) {
            end.pointee = byte
            end += 1
        }
        guard digits > 0 else {
            put(UInt8(ascii: "0"))
            return 1
        }
        if isNegative { put(UInt8(ascii: "-")) }
        // The digits, last one in the lowest place.
        var divisor: UInt64 = 1
        for _ in 1..<count { divisor *= 10 }
        var rest = digits
        func putDigits(_ howMany: Int) {
            for _ in 0..<howMany {
                put(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / divisor))
                rest %= divisor
                divisor = max(divisor / 10, 1)
            }
        }
        let zerosBehind = exponent - (count - 1)
        if zerosBehind >= 0, exponent <= 15, isBelowExactIntegersEnd(zerosBehind) {
            putDigits(count)
            for _ in 0..<zerosBehind { put(UInt8(ascii: "0")) }
        } else if zerosBehind < 0, exponent >= 0 {
            putDigits(exponent + 1)
            put(UInt8(ascii: "."))
            putDigits(count - exponent - 1)
        } else if zerosBehind < 0, exponent >= -6 {
            put(UInt8(ascii: "0"))
            put(UInt8(ascii: "."))
            for _ in 0..<(-exponent - 1) { put(UInt8(ascii: "0")) }
            putDigits(count)
        } else {
            putDigits(1)
            if count > 1 {
                put(UInt8(ascii: "."))
                putDigits(count - 1)
            }
            put(UInt8(ascii: "e"))
            put(exponent < 0 ? UInt8(ascii: "-") : UInt8(ascii: "+"))
            let size = abs(exponent)
            if size >= 100 { put(UInt8(ascii: "0") + UInt8(size / 100)) }
            if size >= 10 { put(UInt8(ascii: "0") + UInt8(size / 10 % 10)) }
            put(UInt8(ascii: "0") + UInt8(size % 10))
        }
        return end - output
    }

    private func isBelowExactIntegersEnd(_ zerosBehind: Int) -> Bool {
        var value = digits
        for _ in 0..<zerosBehind { value *= 10 }
        return value < Self.exactIntegersEnd
    }
}
