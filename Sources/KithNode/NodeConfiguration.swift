import KithDocuments

/// What `config.json` in a node's home says.
public struct NodeConfiguration: Sendable, Equatable {
    /// The node's name for people, 1 to 64 characters.
    public var name: String
    /// The TCP port to listen on; 0 lets the system choose.
    public var port: UInt16
    /// The address to listen on; `nil` is every address, IPv4 and IPv6.
    public var listen: String?
    /// Addresses (`HOST:PORT`) of peers that discovery does not reach.
    public var peers: [String]
    /// The port of the loopback on which administration is served over TLS; `nil` for none, 0 lets the system choose.
    public var administrationPort: UInt16?
    /// How REST is served on the port of replication; `nil` where nothing is said.
    public var rest: PublicRESTSettings?
    /// Whether nodes are trusted that the site's authority has signed, and what they may do; `nil` without a site.
    public var site: SiteGrants?

    /// Makes a configuration.
    public init(name: String, port: UInt16 = NodeLimits.portDefault, listen: String? = nil, peers: [String] = []) {
        self.name = name
        self.port = port
        self.listen = listen
        self.peers = peers
    }

    /// Reads the text of `config.json`.
    ///
    /// - Throws: `KithError` with `.badConfiguration`, naming the entry that cannot be used.
    public init(parsing bytes: [UInt8]) throws(KithError) {
        func bad(_ what: String) -> KithError {
            KithError(.badConfiguration, "config.json: \(what)", remedy: "Correct the file, or remove that entry")
        }
        let value: JSONValue
        do { value = try JSONValue(parsing: bytes) } catch { throw bad("it is not JSON: \(error.message)") }
        guard let object = value.objectValue else { throw bad("it is not a JSON object") }
        let known = ["name", "port", "listen", "peers", "administration", "rest", "site"]
        for entry in object where !known.contains(entry.name) {
            throw bad("there is no setting \"\(entry.name)\"")
        }
        guard let name = value["name"]?.stringValue, (1...64).contains(name.count) else {
            throw bad("\"name\" must be a text of 1 to 64 characters")
        }
        self.init(name: name)
        if let port = value["port"] {
            guard let number = port.int64Value, let port = UInt16(exactly: number) else {
                throw bad("\"port\" must be a number from 0 to 65535")
            }
            self.port = port
        }
        if let listen = value["listen"], listen != .null {
            guard let text = listen.stringValue else { throw bad("\"listen\" must be an address") }
            self.listen = text
        }
        if let site = value["site"] {
            do throws(KithError) { self.site = try SiteGrants(site) } catch { throw bad(error.message) }
        }
        if let rest = value["rest"], rest != .null {
            do throws(KithError) { self.rest = try PublicRESTSettings(rest) } catch { throw bad(error.message) }
        }
        if let peers = value["peers"] {
            guard let items = peers.arrayValue else { throw bad("\"peers\" must be a list of HOST:PORT") }
            for item in items {
                guard let text = item.stringValue else { throw bad("\"peers\" must be a list of HOST:PORT") }
                self.peers.append(text)
            }
        }
        if let administration = value["administration"], administration != .null {
            guard let entries = administration.objectValue else {
                throw bad("\"administration\" must be an object such as {\"port\": 4985}")
            }
            for entry in entries where entry.name != "port" {
                throw bad("there is no setting \"\(entry.name)\" in \"administration\"")
            }
            guard let number = administration["port"]?.int64Value, let port = UInt16(exactly: number) else {
                throw bad("\"port\" in \"administration\" must be a number from 0 to 65535")
            }
            administrationPort = port
        }
    }

    /// The text of `config.json`.
    public func encoded() -> [UInt8] {
        var object: [(String, JSONValue)] = [("name", .string(name)), ("port", JSONValue(Int64(port)))]
        if let listen { object.append(("listen", .string(listen))) }
        object.append(("peers", .array(peers.map { .string($0) })))
        if let administrationPort {
            object.append(("administration", JSONValue(object: [("port", JSONValue(Int64(administrationPort)))])))
        }
        if let rest { object.append(("rest", rest.json)) }
        if let site { object.append(("site", site.json)) }
        return Array((JSONValue(object: object).prettyText() + "\n").utf8)
    }
}
