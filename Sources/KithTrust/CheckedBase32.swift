/// The alphabet of node IDs and its arithmetic: Crockford's base32, and check characters over GF(32).
///
/// A block is 13 data characters d₁…d₁₃ and one check character c with
///
///     c + d₁·α + d₂·α² + … + d₁₃·α¹³ = 0      in GF(32) = GF(2)[α] / (α⁵ + α² + 1)
///
/// α has order 31, so the fourteen weights 1, α, …, α¹³ are different and none is zero. One wrong character changes the
/// sum by e·αⁱ, which is not zero; two exchanged characters change it by (a + b)·(αⁱ + αʲ), which is zero only when
/// a = b. So every single wrong character and every exchange of two characters of a block is noticed, wherever they
/// stand, the check character included.
enum CheckedBase32 {
    static let dataCharactersPerBlock = 13
    static let charactersPerBlock = dataCharactersPerBlock + 1
    static let blocks = 4
    static let characters = blocks * charactersPerBlock

    /// Digits and capital letters without I, L, O and U, by value.
    static let alphabet: [UInt8] = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// The value of each ASCII character as people type it: either case, `O` as zero, `I` and `L` as one; 255 for none.
    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 255, count: 256)
        for (value, character) in alphabet.enumerated() {
            table[Int(character)] = UInt8(value)
            table[Int(character | 0x20)] = UInt8(value)  // digits have this bit already
        }
        for (typed, value) in [("O", 0), ("o", 0), ("I", 1), ("i", 1), ("L", 1), ("l", 1)] {
            table[Int(typed.utf8.first!)] = UInt8(value)
        }
        return table
    }()

    /// The value (0...31) that a typed character stands for, or `nil`.
    static func value(of character: UInt8) -> UInt8? {
        let value = values[Int(character)]
        return value == 255 ? nil : value
    }

    /// Multiplies by α.
    @inline(__always)
    private static func timesAlpha(_ a: UInt8) -> UInt8 {
        let doubled = a << 1
        return doubled & 0b10_0000 == 0 ? doubled : (doubled ^ 0b10_0101)
    }

    /// The check value of 13 data values.
    static func check(of data: some BidirectionalCollection<UInt8>) -> UInt8 {
        // Horner's rule from the highest power down; the last step multiplies once more, so d₁ has the weight α.
        var sum: UInt8 = 0
        for value in data.reversed() {
            sum = timesAlpha(sum ^ value)
        }
        return sum
    }
}
