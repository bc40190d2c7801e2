/// How a blob lies in the table `blob_piece`.
enum BlobLayout {
    /// Bytes of each piece of a blob but the last.
    static let pieceBytes = 262_144
    /// The number of the blob stands above so many bits of a piece's place, the number of the piece in them.
    static let placeBits = 24
}
