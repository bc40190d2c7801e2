import KithWire

/// The bytes of hex digits; spaces, line ends and everything after `#` do not count.
func hex(_ text: String) -> [UInt8] {
    var digits: [UInt8] = []
    for line in text.split(whereSeparator: \.isNewline) {
        for character in line {
            if character == "#" { break }
            if let value = character.hexDigitValue { digits.append(UInt8(value)) }
        }
    }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

/// A generator of numbers that is the same in every run.
struct SeededNumbers: RandomNumberGenerator {
    var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        var words = [UInt64](repeating: 0, count: (count + 7) / 8)
        for index in words.indices { words[index] = next() }
        return words.withUnsafeBytes { Array(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
}

extension BLIPConnection {
    /// Takes a frame given as an array.
    func receive(frame: [UInt8]) throws(BLIPError) -> [BLIPEvent] {
        var result: Result<[BLIPEvent], BLIPError> = .success([])
        frame.withUnsafeBytes { bytes in
            do throws(BLIPError) {
                result = .success(try receive(bytes))
            } catch {
                result = .failure(error)
            }
        }
        return try result.get()
    }

    /// The next frame alone.
    func nextFrame() -> [UInt8]? {
        var out: [UInt8] = []
        return appendNextFrame(to: &out) ? out : nil
    }

    /// All frames that can be sent now.
    func allFrames() -> [[UInt8]] {
        var frames: [[UInt8]] = []
        while let frame = nextFrame() { frames.append(frame) }
        return frames
    }
}

extension BLIPEvent {
    var request: BLIPMessage? {
        if case .request(let message) = self { return message }
        return nil
    }

    var response: (tag: UInt64, message: BLIPMessage)? {
        if case .response(let tag, let message) = self { return (tag, message) }
        return nil
    }
}

/// Lets two connections exchange frames until neither has one, and returns what each was told.
func exchange(
    _ a: BLIPConnection, _ b: BLIPConnection
) throws(BLIPError) -> (a: [BLIPEvent], b: [BLIPEvent]) {
    var toldA: [BLIPEvent] = []
    var toldB: [BLIPEvent] = []
    while a.hasFramesToSend || b.hasFramesToSend {
        if let frame = a.nextFrame() { toldB += try b.receive(frame: frame) }
        if let frame = b.nextFrame() { toldA += try a.receive(frame: frame) }
    }
    return (toldA, toldB)
}
