/// Where the pieces of blobs lie: the number of the blob in the upper bits of the key, the number of the piece in the lower.
enum BlobPlace {
    /// How many bits the number of a piece has: at 256 KiB each, a blob may have 4 TiB.
    static let pieceBits = 24

    static func place(blob: Int, piece: Int) -> Int { blob << pieceBits | piece }
    static func piece(of place: Int) -> Int { place & (1 << pieceBits - 1) }
    static func last(blob: Int) -> Int { place(blob: blob, piece: 1 << pieceBits - 1) }
}
