/// Where a parser stands in the body of a message (RFC 9112 §6, §7.1).
enum HTTPBody {
    /// There is none, or all of it has come.
    case none
    /// So many bytes are still to come.
    case fixed(Int)
    /// Everything until the connection ends (responses only).
    case untilEnd
    /// The line with the size of a chunk comes next.
    case chunkSize
    /// So many bytes of a chunk are still to come.
    case chunk(Int)
    /// The line end after a chunk comes next.
    case chunkEnd
    /// The fields after the last chunk, or the empty line that ends them, come next.
    case trailer
}
