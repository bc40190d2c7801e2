import KithNode

/// How commands reach the files of a home, so that tests can give them others.
struct HomeAccess: Sendable {
    /// Makes a home: path, name, port, and the files of its site.
    let create: @Sendable (_ path: String, _ name: String, _ port: UInt16?, _ site: SiteSetup?) throws -> KnownNode
    /// Opens a home whose node does not run.
    let open: @Sendable (_ path: String) throws -> any LocalHome
    /// Whether there is a home.
    let exists: @Sendable (_ path: String) -> Bool
}
