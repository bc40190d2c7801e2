/// The WebSocket subprotocols that BLIP with Couchbase's replication protocol goes by.
public enum BLIPSubprotocol {
    /// BLIP 3 with replication by revision trees, as Couchbase Lite 3 speaks it; the only one that a Kith node offers.
    public static let token = "BLIP_3+CBMobile_3"
    /// The same as Couchbase Lite 2 speaks it: there are no revocations, and `getAttachment` comes without `docID`. Nothing
    /// that is sent or needed here differs.
    public static let olderToken = "BLIP_3+CBMobile_2"
    /// What is taken from a client, the best first.
    public static let supported = [token, olderToken]
}
