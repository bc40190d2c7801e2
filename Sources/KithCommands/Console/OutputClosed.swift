/// The reader of the standard output has gone, as `head` does when it has seen enough; the program ends quietly.
struct OutputClosed: Error {}
