/// The command line cannot be understood; the program prints it and exits with 64.
struct UsageError: Error, Equatable {
    let message: String
    /// What to type instead.
    let hint: String?

    init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }
}
