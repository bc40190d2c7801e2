import Glibc

/// A file descriptor with one owner: closed by `close()` or, at the latest, with this object.
final class OwnedDescriptor {
    /// The descriptor, or -1 after `close()`.
    private(set) var number: Int32

    init(_ number: Int32) { self.number = number }

    func close() {
        if number >= 0 { _ = Glibc.close(number) }
        number = -1
    }

    deinit { close() }
}
