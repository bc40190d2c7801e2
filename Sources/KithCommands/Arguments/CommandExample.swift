/// A line that can be typed as it stands, and what it does.
struct CommandExample: Sendable {
    let line: String
    let meaning: String

    init(_ line: String, _ meaning: String) {
        self.line = line
        self.meaning = meaning
    }
}
