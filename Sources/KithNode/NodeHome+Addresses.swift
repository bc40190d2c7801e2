import KithDocuments
import KithTransport

extension NodeHome {
    /// Changes the addresses of peers in `config.json`, and nothing else that somebody may have written there since the
    /// home was opened.
    ///
    /// - Throws: `.badConfiguration` for a file that cannot be used; what `change` throws; errors of the disk. Then nothing
    ///   has changed.
    func changeAddresses(_ change: (inout [String]) throws(KithError) -> Void) throws(KithError) {
        let file = path + "/config.json"
        var now = try NodeConfiguration(parsing: try HomeFile.read(file, bytesMax: 1 << 20))
        let old = now.peers
        try change(&now.peers)
        if now.peers != old { try HomeFile.write(now.encoded(), to: file) }
    }

    /// Whether this text of `config.json` means that address.
    static func means(_ text: String, _ address: SocketAddress) -> Bool {
        (try? SocketAddress(parsing: text, defaultPort: NodeLimits.portDefault)) == address
    }
}
