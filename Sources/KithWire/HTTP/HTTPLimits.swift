/// The bounds of one HTTP connection, where they may differ from the defaults in ``WireLimits``.
public struct HTTPLimits: Sendable {
    /// The longest head, in bytes.
    public var headBytesMax = WireLimits.httpHeadBytesMax
    /// The most header fields.
    public var headerFieldsMax = WireLimits.httpHeaderFieldsMax
    /// The longest request target, in bytes.
    public var targetBytesMax = WireLimits.httpTargetBytesMax
    /// The longest body, in bytes.
    public var bodyBytesMax = WireLimits.httpBodyBytesMax

    /// The defaults.
    public init() {}
}
