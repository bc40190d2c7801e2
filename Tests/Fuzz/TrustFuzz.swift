import KithTrust

/// Node IDs from any bytes: what reads as an ID prints as a text that reads as the same ID, and every hash prints as a
/// text that reads back.
func fuzzNodeID(_ bytes: UnsafeRawBufferPointer) {
    if let id = try? NodeID(parsingUTF8: bytes) {
        precondition((try? NodeID(parsing: id.description)) == id)
    }
    if bytes.count >= NodeID.hashByteCount {
        let id = NodeID(subjectPublicKeyHash: Array(bytes.prefix(NodeID.hashByteCount)))
        precondition((try? NodeID(parsing: id.description)) == id)
    }
    _ = try? NodeName.check(String(decoding: bytes, as: UTF8.self))
}
