import KithDiscovery

/// TXT records and addresses as anybody on the network can send them: strings of the input are separated by `FF`.
///
/// What is read as a node's record has a version in range and an ID in the one form; what is read as an address prints.
func fuzzServiceText(_ bytes: UnsafeRawBufferPointer) {
    let strings = bytes.split(separator: 0xFF, omittingEmptySubsequences: false).map { [UInt8]($0) }
    if let text = ServiceText(strings) {
        precondition((1...9_999).contains(text.version))
        precondition(text.shortID.isEmpty || ServiceText.shortID(text.shortID.utf8) == text.shortID)
        precondition(!text.shortID.isEmpty || text.version != ServiceText.knownVersion)
    }
    for length in [4, 16] where bytes.count >= length {
        for onLoopback in [false, true] {
            if let address = NodeAddress(recordData: Array(bytes.prefix(length)), onLoopback: onLoopback) {
                precondition(!address.text(interface: "eth0").isEmpty)
            }
        }
    }
}
