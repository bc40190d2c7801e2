import KithDocuments

/// How REST is served on the port of replication, as `"rest"` in `config.json` says it:
///
///     {"public": true, "guests": false, "origins": ["https://app.example"], "credentials": true}
public struct PublicRESTSettings: Sendable, Equatable {
    /// Whether it is served at all. Without it the handshake of an unknown key ends before a byte of HTTP is read.
    public var isOn = false
    /// Whether somebody who has not logged in may do what `_security` of a database gives everybody, or the role `_guest`.
    public var letsGuestsIn = false
    /// Whose pages may ask from a browser.
    public var crossOrigin = CrossOriginRules()

    /// Nothing is served.
    public init() {}

    /// Reads what the configuration says.
    ///
    /// - Throws: `.badConfiguration`, naming the member that is wrong.
    init(_ value: JSONValue) throws(KithError) {
        func bad(_ what: String) -> KithError { KithError(.badConfiguration, what) }
        guard let object = value.objectValue else {
            throw bad("\"rest\" must be an object such as {\"public\": true}")
        }
        for (name, value) in object {
            guard name != "origins" else {
                guard let texts = value.arrayValue?.map(\.stringValue), !texts.contains(nil) else {
                    throw bad("\"origins\" in \"rest\" must be a list such as [\"https://app.example\"]")
                }
                try crossOrigin.allow(texts.compactMap { $0 })
                continue
            }
            guard let flag = value.boolValue else {
                guard ["public", "guests", "credentials"].contains(name) else {
                    throw bad("there is no setting \"\(name.prefix(100))\" in \"rest\"")
                }
                throw bad("\"\(name)\" in \"rest\" must be true or false")
            }
            switch name {
            case "public": isOn = flag
            case "guests": letsGuestsIn = flag
            case "credentials": crossOrigin.allowsCredentials = flag
            default: throw bad("there is no setting \"\(name.prefix(100))\" in \"rest\"")
            }
        }
        guard !crossOrigin.allowsCredentials || !crossOrigin.allowsEverybody else {
            throw bad("\"credentials\" in \"rest\" cannot go with \"*\": any page could do what its reader may")
        }
        if crossOrigin.allowsCredentials, let origin = crossOrigin.unprotected {
            throw bad(
                "\"credentials\" in \"rest\" cannot go with \"\(origin)\": without TLS anybody in its network speaks as its pages"
            )
        }
    }

    var json: JSONValue {
        JSONValue(object: [
            ("public", .bool(isOn)), ("guests", .bool(letsGuestsIn)),
            ("origins", .array(crossOrigin.origins.map { .string($0) })),
            ("credentials", .bool(crossOrigin.allowsCredentials)),
        ])
    }
}
