/// The WebSocket subprotocol that BLIP with Couchbase's replication protocol goes by (blip.md §2).
public enum BLIPSubprotocol {
    /// BLIP 3 with replication by revision trees, as Couchbase Lite 3 speaks it. Kith offers and takes only this one.
    public static let token = "BLIP_3+CBMobile_3"
}
