/// The header by which two Kith nodes recognise each other in the upgrade: then all leaves of a document travel.
enum KithHeader {
    static let name = "X-Kith-Node"
    static let value = "1"
    /// With it the link is one of its own beside the one that the pair keeps, for a replication that ends by itself.
    static let oneShotName = "X-Kith-Once"
}
