import KithTransport

extension Connection {
    /// Hears nothing more of it, and ends it: what was said last still goes out to a peer that reads, and one that does not keeps
    /// nothing open for longer than `NodeLimits.pairingLingerSeconds`.
    func leave() {
        onReceive = nil
        onClose = nil
        onReady = nil
        guard isOpen else { return abort() }
        close()
        EventLoop.shared.schedule(afterSeconds: NodeLimits.pairingLingerSeconds) { self.abort() }
    }
}
