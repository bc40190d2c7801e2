/// The checksum of a piece of a blob: finds what a disk has changed, at the speed of memory.
///
/// XXH64 with seed 0 (https://github.com/Cyan4973/xxHash, `doc/xxhash_spec.md`). It protects against faults and not against
/// people: what names the bytes is their SHA-1. Up to format 4 a piece had the first 8 bytes of its SHA-256, which takes as
/// long as everything else together on a machine without instructions for it.
package enum PieceChecksum {
    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

    /// The checksum as the number that a row has.
    package static func of(_ bytes: UnsafeRawBufferPointer) -> Int {
        var offset = 0
        var hash: UInt64
        if bytes.count >= 32 {
            var (a, b, c, d) = (prime1 &+ prime2, prime2, UInt64(0), 0 &- prime1)
            while bytes.count - offset >= 32 {
                a = round(a, word(bytes, offset))
                b = round(b, word(bytes, offset + 8))
                c = round(c, word(bytes, offset + 16))
                d = round(d, word(bytes, offset + 24))
                offset += 32
            }
            hash = rotate(a, 1) &+ rotate(b, 7) &+ rotate(c, 12) &+ rotate(d, 18)
            for lane in [a, b, c, d] { hash = (hash ^ round(0, lane)) &* prime1 &+ prime4 }
        } else {
            hash = prime5
        }
        hash &+= UInt64(bytes.count)
        while bytes.count - offset >= 8 {
            hash = rotate(hash ^ round(0, word(bytes, offset)), 27) &* prime1 &+ prime4
            offset += 8
        }
        if bytes.count - offset >= 4 {
            let half = UInt64(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
            hash = rotate(hash ^ half &* prime1, 23) &* prime2 &+ prime3
            offset += 4
        }
        while offset < bytes.count {
            hash = rotate(hash ^ UInt64(bytes[offset]) &* prime5, 11) &* prime1
            offset += 1
        }
        hash = (hash ^ hash >> 33) &* prime2
        hash = (hash ^ hash >> 29) &* prime3
        return Int(bitPattern: UInt(hash ^ hash >> 32))
    }

    /// Whether bytes are those for which a checksum was stored, by this version or by one before format 5.
    static func isRight(_ checksum: Int, for bytes: UnsafeRawBufferPointer, _ hasher: MessageDigest) throws -> Bool {
        if checksum == of(bytes) { return true }
        try hasher.begin()
        try hasher.add(bytes)
        return try checksum == hasher.end().prefix(8).reduce(0) { $0 << 8 | Int($1) }
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(__always)
    private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        rotate(lane &+ word &* prime2, 31) &* prime1
    }

    @inline(__always)
    private static func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 { word << count | word >> (64 - count) }
}
