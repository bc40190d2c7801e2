import Glibc

/// How much the tests try.
enum TestLength {
    /// What takes minutes as well: `Tests/run --long`.
    static let isLong = getenv("KITH_TESTS_LONG").map { String(cString: $0) } == "1"
}
