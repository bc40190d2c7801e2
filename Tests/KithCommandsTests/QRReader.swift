/// Reads a QR code from what was printed (ISO/IEC 18004), as far as ours go: versions 1 to 5 at level L, one block, bytes. The screen
/// has no faults, so nothing is corrected.
struct QRReader {
    /// Whether a module is dark, without the quiet zone.
    private let isDark: [[Bool]]
    private var size: Int { isDark.count }
    private static let halves: [Character: (Bool, Bool)] = [
        "█": (true, true), "▀": (true, false), "▄": (false, true), " ": (false, false),
    ]

    /// - Parameters:
    ///   - rows: printed with half blocks.
    ///   - isInverted: the light modules are painted.
    /// - Returns: `nil` when the quiet zone is not light, or it is no square.
    init?(rows: [String], isInverted: Bool) {
        var all: [[Bool]] = []
        for row in rows {
            let halves = row.compactMap { Self.halves[$0] }
            guard halves.count == row.count else { return nil }
            all.append(halves.map { $0.0 != isInverted })
            all.append(halves.map { $0.1 != isInverted })
        }
        guard let width = all.first?.count, all.count == width + 1, all.removeLast().allSatisfy({ !$0 }) else {
            return nil
        }
        let quiet = all.indices.filter { $0 < 4 || $0 >= width - 4 }
        for index in quiet {
            guard all[index].allSatisfy({ !$0 }), all.allSatisfy({ !$0[index] }) else { return nil }
        }
        isDark = all[4..<(width - 4)].map { Array($0[4..<(width - 4)]) }
    }

    /// Whether the three finder patterns are where they belong.
    var hasFinders: Bool {
        [(0, 0), (0, size - 7), (size - 7, 0)].allSatisfy { top, left in
            (0..<7).allSatisfy { row in
                (0..<7).allSatisfy { column in
                    let ring = max(abs(row - 3), abs(column - 3))
                    return isDark[top + row][left + column] == (ring != 2)
                }
            }
        }
    }

    /// The text; `nil` when it is not one of ours.
    var text: String? {
        let version = (size - 17) / 4
        guard (1...5).contains(version), size == 17 + 4 * version else { return nil }
        // The format beside the upper left finder: two bits of level, three of mask, XORed with 10101 0000010010.
        let format = (0..<5).reduce(0) { $0 << 1 | (isDark[8][$1] ? 1 : 0) } ^ 0b10101
        guard format >> 3 == 0b01 else { return nil }
        let mask = format & 7
        var bits: [Bool] = []
        var isUpward = true
        for right in stride(from: size - 1, to: 0, by: -2) {
            let right = right <= 6 ? right - 1 : right
            for step in 0..<size {
                let row = isUpward ? size - 1 - step : step
                for column in [right, right - 1] where !isFunction(row, column, version) {
                    bits.append(isDark[row][column] != Self.isMasked(mask, row, column))
                }
            }
            isUpward.toggle()
        }
        func number(_ start: Int, _ count: Int) -> Int {
            bits[start..<start + count].reduce(0) { $0 << 1 | ($1 ? 1 : 0) }
        }
        let count = number(4, 8)
        guard number(0, 4) == 0b0100, bits.count >= 12 + 8 * count else { return nil }
        return String(
            validating: (0..<count).map { UInt8(number(12 + 8 * $0, 8)) }, as: UTF8.self)
    }

    private func isFunction(_ row: Int, _ column: Int, _ version: Int) -> Bool {
        if row == 6 || column == 6 { return true }
        if row < 9, column < 9 || column >= size - 8 { return true }
        if row >= size - 8, column < 9 { return true }
        return version > 1 && abs(row - (size - 7)) <= 2 && abs(column - (size - 7)) <= 2
    }

    private static func isMasked(_ mask: Int, _ i: Int, _ j: Int) -> Bool {
        switch mask {
        case 0: (i + j) % 2 == 0
        case 1: i % 2 == 0
        case 2: j % 3 == 0
        case 3: (i + j) % 3 == 0
        case 4: (i / 2 + j / 3) % 2 == 0
        case 5: i * j % 2 + i * j % 3 == 0
        case 6: (i * j % 2 + i * j % 3) % 2 == 0
        default: ((i + j) % 2 + i * j % 3) % 2 == 0
        }
    }
}
