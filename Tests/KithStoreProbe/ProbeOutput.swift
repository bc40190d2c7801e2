import Glibc

/// Prints a line at once and in one piece: a kill leaves it whole or not there. Ends the program when nobody reads it any
/// more, so that it does not outlive the test that started it.
func printLine(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    if write(1, bytes, bytes.count) != bytes.count { _exit(74) }
}

/// Prints a line for people.
func printError(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    _ = write(2, bytes, bytes.count)
}

/// A whole number among the arguments; ends the program when it is none.
func number(_ text: String) -> UInt64 {
    guard let number = UInt64(text) else {
        printError("\(text) is no number")
        exit(64)
    }
    return number
}
