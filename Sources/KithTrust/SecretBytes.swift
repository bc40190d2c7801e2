import COpenSSL

/// Bytes that are wiped when the last owner lets go of them; nothing prints or reflects them.
///
/// The memory is owned by this object: allocated in `init`, wiped and freed in `deinit`.
// Sendable although it holds a pointer: the memory is written in `init` only, before anybody else has the object, is
// only read afterwards, and is freed by `deinit`, which runs when nobody has it any more.
final class SecretBytes: @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer

    /// Copies the bytes; the caller wipes its own copy.
    init(copying bytes: UnsafeRawBufferPointer) {
        memory = .allocate(byteCount: bytes.count, alignment: 1)
        memory.copyMemory(from: bytes)
    }

    deinit {
        OPENSSL_cleanse(memory.baseAddress, memory.count)
        memory.deallocate()
    }

    func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try body(UnsafeRawBufferPointer(memory))
    }
}
