import KithDocuments

extension NodeID {
    /// Reads an ID as people write it: either case, spaces and dashes anywhere or nowhere, `O` for zero, `I` or `L` for
    /// one.
    ///
    /// - Throws: `badNodeID` when the text is empty, has a foreign character, is too short or too long, or when a block
    ///   does not agree with its check character; the message names the block.
    public init(parsing text: String) throws(KithError) {
        try self.init(parsingUTF8: text.utf8)
    }

    /// Reads an ID from UTF-8 bytes by the same rules.
    ///
    /// - Throws: `badNodeID`, as `init(parsing:)`.
    public init(parsingUTF8 text: some Sequence<UInt8>) throws(KithError) {
        var values: [UInt8] = []
        values.reserveCapacity(CheckedBase32.characters)
        var count = 0
        var length = 0
        for byte in text {
            length += 1
            guard length <= TrustLimits.nodeIDTextBytesMax else {
                throw Self.error("a node ID has \(CheckedBase32.characters) characters, this text is far longer")
            }
            switch byte {
            case UInt8(ascii: "-"), UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"):
                continue
            default:
                guard let value = CheckedBase32.value(of: byte) else {
                    throw Self.foreignCharacter(byte, at: count)
                }
                count += 1
                if count <= CheckedBase32.characters { values.append(value) }
            }
        }
        guard count > 0 else { throw Self.error("the node ID is empty") }
        guard count == CheckedBase32.characters else {
            let difference =
                count < CheckedBase32.characters
                ? "\(CheckedBase32.characters - count) missing" : "\(count - CheckedBase32.characters) too many"
            throw Self.error(
                "the node ID has \(count) characters instead of \(CheckedBase32.characters): \(difference)")
        }
        try self.init(checkedValues: values)
    }

    /// Checks the four blocks and joins their bits.
    private init(checkedValues values: [UInt8]) throws(KithError) {
        var hash: [UInt8] = []
        hash.reserveCapacity(Self.hashByteCount)
        var bits: UInt32 = 0
        var bitCount = 0
        for block in 0..<CheckedBase32.blocks {
            let start = block * CheckedBase32.charactersPerBlock
            let data = values[start..<start + CheckedBase32.dataCharactersPerBlock]
            guard CheckedBase32.check(of: data) == values[start + CheckedBase32.dataCharactersPerBlock] else {
                let written = values[start..<start + CheckedBase32.charactersPerBlock].map {
                    CheckedBase32.alphabet[Int($0)]
                }
                throw Self.error(
                    "a character in \(Self.place(ofBlock: block)) of the node ID is wrong"
                        + " (\(String(decoding: written, as: UTF8.self)))")
            }
            for value in data {
                bits = bits << 5 | UInt32(value)
                bitCount += 5
                if bitCount >= 8 {
                    bitCount -= 8
                    hash.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
                }
            }
        }
        // The four bits past the hash are zero, else one ID would have sixteen texts.
        guard bits & 0b1111 == 0 else {
            throw Self.error("\(Self.place(ofBlock: CheckedBase32.blocks - 1)) of the node ID is wrong")
        }
        self.init(subjectPublicKeyHash: hash)
    }

    private static func place(ofBlock block: Int) -> String {
        let first = block * CheckedBase32.charactersPerBlock + 1
        return "block \(block + 1) of \(CheckedBase32.blocks) (characters \(first) to"
            + " \(first + CheckedBase32.charactersPerBlock - 1))"
    }

    private static func foreignCharacter(_ byte: UInt8, at position: Int) -> KithError {
        let what = (0x21...0x7e).contains(byte) ? "'\(Character(UnicodeScalar(byte)))'" : "a foreign character"
        let block = min(position / CheckedBase32.charactersPerBlock, CheckedBase32.blocks - 1)
        return error(
            "\(what) in \(place(ofBlock: block)) of the node ID cannot be: it has digits and letters without U")
    }

    private static func error(_ message: String) -> KithError {
        KithError(.badNodeID, message, remedy: "Copy the ID again from 'kith id' on the other node")
    }
}
