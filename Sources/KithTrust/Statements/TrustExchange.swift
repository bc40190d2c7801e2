import KithDocuments

/// Two nodes tell each other what was said of keys, as a machine without I/O (docs/protocol/trust.md).
///
/// ```swift
/// var exchange = TrustExchange(instance: random, rotations: identity.rotations)
/// for step in exchange.receive(bytes) { … }               // then exchange.tell(…), exchange.confirm(…)
/// connection.write(exchange.takeOutput())
/// ```
///
/// Both sides do the same, at the same time: they say who they are, with the rotations of their own key; when they know that
/// of the other side, they tell what it may know; and when that is stored, they say so.
public struct TrustExchange: Sendable {
    /// What has come from the other side, whole.
    public enum Step: Sendable, Hashable {
        /// Who it is: a random number of its process, and the rotations of its key.
        case introduced(instance: [UInt8], rotations: [[UInt8]])
        /// What it tells.
        case told([[UInt8]])
        /// It has stored what it was told, and says whether it trusts this node: otherwise hardly anything of it has counted.
        /// Nothing more comes.
        case stored(isTrusted: Bool)
    }

    /// The application protocol of the TLS connection (RFC 7301).
    public static let applicationProtocol = "kith-trust/1"
    /// Bytes of the number of a process.
    public static let instanceByteCount = 16

    /// Whether the other side has broken the protocol. Then the connection is to be closed.
    public private(set) var isBroken = false
    /// Whether the other side has told all and has stored all.
    public private(set) var isDone = false
    private var input: [UInt8] = []
    private var output: [UInt8] = []
    private var frames: [[UInt8]] = []
    private var parts = 0

    /// Begins.
    ///
    /// - Parameters:
    ///   - instance: `instanceByteCount` random bytes, the same as long as the process lives.
    ///   - rotations: those of this node's key.
    public init(instance: [UInt8], rotations: [TrustStatement]) {
        precondition(instance.count == Self.instanceByteCount)
        send([instance] + rotations.map(\.bytes))
    }

    /// Bytes for the other side, which are then no longer here.
    public mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    /// Tells statements, once, when the other side is known.
    public mutating func tell(_ statements: [TrustStatement]) { send(statements.map(\.bytes)) }

    /// Says that what was told is on the disk, once.
    ///
    /// - Parameter isTrusted: whether the other side is trusted here.
    public mutating func confirm(isTrusted: Bool) { send([[isTrusted ? 1 : 0]]) }

    /// Takes bytes of the other side: frames of two bytes of length, big-endian, and as many bytes; an empty one ends a part.
    public mutating func receive(_ bytes: UnsafeRawBufferPointer) -> [Step] {
        guard !isBroken, !isDone else { return [] }
        input.append(contentsOf: bytes)
        var steps: [Step] = []
        var position = 0
        while !isBroken, !isDone, input.count - position >= 2 {
            let count = Int(input[position]) << 8 | Int(input[position + 1])
            guard count <= TrustLimits.statementBytesMax else {
                isBroken = true
                break
            }
            guard input.count - position >= 2 + count else { break }
            let frame = Array(input[position + 2..<position + 2 + count])
            position += 2 + count
            if let step = take(frame) { steps.append(step) }
        }
        input.removeFirst(position)
        if isBroken || isDone { input = [] }
        return steps
    }

    private mutating func take(_ frame: [UInt8]) -> Step? {
        guard frame.isEmpty else {
            // The number, and its keys; statements; the last word.
            let countMax = [1 + TrustLimits.formerKeysMax, TrustLimits.statementsMax, 1][parts]
            guard frames.count < countMax, parts > 0 || !frames.isEmpty || frame.count == Self.instanceByteCount else {
                isBroken = true
                return nil
            }
            frames.append(frame)
            return nil
        }
        defer {
            parts += 1
            frames = []
        }
        switch parts {
        case 0:
            guard let instance = frames.first else {
                isBroken = true
                return nil
            }
            // Nothing else belongs there: what is said of others is heard in its own part, from those who are trusted.
            let rotations = frames.dropFirst().filter { $0.count > 1 && $0[1] == StatementOutline.rotationKind }
            return .introduced(instance: instance, rotations: Array(rotations))
        case 1: return .told(frames)
        default:
            guard frames == [[0]] || frames == [[1]] else {
                isBroken = true
                return nil
            }
            isDone = true
            return .stored(isTrusted: frames == [[1]])
        }
    }

    private mutating func send(_ frames: [[UInt8]]) {
        for frame in frames + [[]] {
            output += [UInt8(truncatingIfNeeded: frame.count >> 8), UInt8(truncatingIfNeeded: frame.count)] + frame
        }
    }
}
