/// The numbers of this room, each with what it does.
public enum DiscoveryLimits {
    /// The longest instance name that DNS carries, in bytes (RFC 6763 §4.1.1); a longer one is cut.
    public static let instanceNameBytesMax = 63
    /// How often a taken name gets the next number before the node's short ID is put behind it, which ends the series.
    public static let numberedNamesMax = 2
    /// How many names are tried in all before the node says that it is not published.
    public static let namesTriedMax = 6
    /// How many found services (name and interface) are followed; more are left out. Each takes three of the 1,024
    /// objects that avahi-daemon gives one client.
    public static let servicesMax = 300
    /// How many addresses of one service are kept.
    public static let addressesPerServiceMax = 16
    /// The largest TXT record that is looked at, in bytes; a Kith node's has 14.
    public static let textBytesMax = 1_300
    /// The first wait before asking D-Bus again after a failure; it doubles each time.
    public static let retryDelayMillisecondsMin: Int64 = 1_000
    /// The longest wait before asking D-Bus again.
    public static let retryDelayMillisecondsMax: Int64 = 30_000
    /// How long to wait for a service's other address family before looking it up, so that it is looked up once.
    static let lookUpDelayMilliseconds: Int64 = 50
    /// How long a service must be quiet before it is reported, so that its addresses come in one event.
    static let reportDelayMilliseconds: Int64 = 150
    /// The longest a report is put off while changes keep coming.
    static let reportDelayMillisecondsMax: Int64 = 1_000
}
