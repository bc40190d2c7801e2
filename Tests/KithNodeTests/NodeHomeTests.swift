import Glibc
import KithDocuments
import Testing

@testable import KithNode

@Suite("A node's home")
struct NodeHomeTests {
    @Test("is made with a key that only its owner can read, and opened as it was made")
    func create() throws {
        let folder = TemporaryHome()
        let made = try NodeHome.create(at: folder.path + "/home", name: "Küche", port: 4999)
        let opened = try NodeHome.open(at: folder.path + "/home")
        #expect(opened.identity.nodeID == made.identity.nodeID)
        #expect(opened.configuration == NodeConfiguration(name: "Küche", port: 4999))
        for (name, mode) in [
            ("home", 0o700), ("home/identity", 0o700), ("home/databases", 0o700), ("home/run", 0o700),
            ("home/identity/key.pem", 0o600), ("home/config.json", 0o600), ("home/format", 0o600),
        ] as [(String, mode_t)] {
            #expect(folder.mode(name) == mode, "\(name)")
        }
    }

    @Test("that is there already is not made again")
    func createTwice() throws {
        let folder = TemporaryHome()
        let first = try NodeHome.create(at: folder.path + "/home", name: "a")
        #expect { try NodeHome.create(at: folder.path + "/home", name: "b") } throws: {
            ErrorCode.alreadyInitialised ~= $0
        }
        #expect(try NodeHome.open(at: folder.path + "/home").identity.nodeID == first.identity.nodeID)
    }

    @Test("whose making was interrupted is completed with the key that is there")
    func interrupted() throws {
        let folder = TemporaryHome()
        let first = try NodeHome.create(at: folder.path + "/home", name: "a")
        unlink(folder.path + "/home/format")
        let second = try NodeHome.create(at: folder.path + "/home", name: "a")
        #expect(second.identity.nodeID == first.identity.nodeID)
    }

    @Test("of a newer version is refused and left alone")
    func newer() throws {
        let folder = TemporaryHome()
        _ = try NodeHome.create(at: folder.path, name: "a")
        folder.write("2\n", to: "format")
        #expect { try NodeHome.open(at: folder.path) } throws: { ErrorCode.newerFormat ~= $0 }
        #expect { try NodeHome.create(at: folder.path, name: "a") } throws: { ErrorCode.newerFormat ~= $0 }
        folder.write("banana\n", to: "format")
        #expect { try NodeHome.open(at: folder.path) } throws: { ErrorCode.damaged ~= $0 }
    }

    @Test("that is not there is said so")
    func missing() {
        let folder = TemporaryHome()
        #expect { try NodeHome.open(at: folder.path) } throws: { ErrorCode.notInitialised ~= $0 }
    }

    @Test("takes one node at a time")
    func lock() throws {
        let folder = TemporaryHome()
        let home = try NodeHome.create(at: folder.path, name: "a")
        let lock = try home.lock()
        #expect { try home.lock() } throws: { ErrorCode.alreadyRunning ~= $0 }
        withExtendedLifetime(lock) {}
    }

    @Test(
        "configuration that cannot be used is refused, naming the entry",
        arguments: [
            ("", "JSON"), ("[]", "object"), ("{}", "name"), ("{\"name\":\"\"}", "name"),
            ("{\"name\":\"a\",\"port\":70000}", "port"), ("{\"name\":\"a\",\"port\":\"x\"}", "port"),
            ("{\"name\":\"a\",\"colour\":1}", "colour"), ("{\"name\":\"a\",\"peers\":\"x\"}", "peers"),
            ("{\"name\":\"a\",\"peers\":[1]}", "peers"), ("{\"name\":\"a\",\"listen\":4}", "listen"),
        ])
    func badConfiguration(text: String, naming: String) {
        #expect { try NodeConfiguration(parsing: Array(text.utf8)) } throws: { error in
            ErrorCode.badConfiguration ~= error && (error as? KithError)?.message.contains(naming) == true
        }
    }

    @Test("configuration is read as it was written")
    func configuration() throws {
        let configuration = NodeConfiguration(
            name: "a", port: 0, listen: "::1", peers: ["ward-2:4984", "[fe80::1%eth0]:1"])
        #expect(try NodeConfiguration(parsing: configuration.encoded()) == configuration)
        #expect(try NodeConfiguration(parsing: Array("{\"name\":\"a\"}".utf8)) == NodeConfiguration(name: "a"))
    }
}
