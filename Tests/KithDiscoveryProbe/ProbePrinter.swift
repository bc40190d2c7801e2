import Glibc
import KithDiscovery

/// Prints a line at once, in one piece.
func printLine(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    _ = write(1, bytes, bytes.count)
}

/// The closure that prints. Made here and not in main.swift, where it would belong to the main actor and trap on Avahi's
/// thread.
func makeProbePrinter() -> @Sendable (DiscoveryEvent) -> Void {
    { event in printLine(probeLine(event)) }
}
