// swift-tools-version: 6.0
import PackageDescription

// Rooms of the code, each depending only on rooms above it. docs/ARCHITECTURE.md is the map.
//
// KITH_FUZZ=1 adds the fuzz targets, which a user of the library does not need (Tests/fuzz sets it).
let wantsFuzzers = Context.environment["KITH_FUZZ"] != nil
// KITH_ONLY=A,B leaves only these targets and what they depend on: one room and its tests build in a fraction of the
// time, and with compiler options (a sanitizer, optimisation) that the others need not be built with.
let chosenTargets = Context.environment["KITH_ONLY"].map { $0.split(separator: ",").map(String.init) }

let package = Package(
    name: "Kith",
    products: [
        .library(name: "Kith", targets: ["Kith"]),
        .executable(name: "kith", targets: ["KithCLI"]),
    ],
    targets: [
        // Debian's C libraries and the parts of glibc that Swift's Glibc module leaves out.
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CQRencode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        // Without pkgConfig: Avahi's .pc file has a flag that the package manager rejects.
        .systemLibrary(name: "CAvahi", providers: [.apt(["libavahi-client-dev"])]),

        .target(name: "KithDocuments", exclude: ["DESIGN.md"]),
        .target(
            name: "KithStore", dependencies: ["KithDocuments", "CSQLite", "COpenSSL", "CLinux"], exclude: ["DESIGN.md"]),
        .target(name: "KithWire", dependencies: ["KithDocuments", "CZlib", "COpenSSL"], exclude: ["DESIGN.md"]),
        .target(
            name: "KithTransport", dependencies: ["KithDocuments", "KithWire", "COpenSSL", "CLinux", "CCurl"],
            exclude: ["DESIGN.md"]),
        .target(name: "KithTrust", dependencies: ["KithDocuments", "COpenSSL", "CLinux"], exclude: ["DESIGN.md"]),
        .target(name: "KithAccess", dependencies: ["KithDocuments", "COpenSSL"], exclude: ["DESIGN.md"]),
        .target(name: "KithDiscovery", dependencies: ["KithDocuments", "CAvahi"], exclude: ["DESIGN.md"]),
        .target(
            name: "KithReplication", dependencies: ["KithDocuments", "KithStore", "KithWire"], exclude: ["DESIGN.md"]),
        .target(
            name: "KithNode",
            dependencies: [
                "KithDocuments", "KithStore", "KithWire", "KithTransport", "KithTrust", "KithDiscovery",
                "KithReplication", "KithAccess", "CLinux",
            ], exclude: ["DESIGN.md"]),
        .target(name: "Kith", dependencies: ["KithDocuments", "KithStore", "KithTrust", "KithNode"]),
        .target(
            name: "KithCommands",
            dependencies: [
                "KithDocuments", "KithNode", "KithTransport", "KithTrust", "KithWire", "CLinux", "CQRencode",
            ],
            exclude: ["DESIGN.md"]),
        .executableTarget(name: "KithCLI", dependencies: ["KithCommands"]),

        .executableTarget(
            name: "KithBenchmarks",
            dependencies: [
                "Kith", "KithNode", "KithDocuments", "KithStore", "KithTrust", "KithWire", "CSQLite", "COpenSSL",
                "CLinux",
            ], path: "Benchmarks",
            exclude: ["run"]),

        .target(
            name: "KithSimulation",
            dependencies: ["KithDocuments", "KithStore", "KithWire", "KithReplication"],
            path: "Tests/KithSimulation", exclude: ["DESIGN.md"]),
        // Plays seeds of it, as many as wanted; Tests/simulate starts several of these.
        .executableTarget(name: "KithSimulate", dependencies: ["KithSimulation"], path: "Tests/KithSimulate"),
        .testTarget(name: "KithDocumentsTests", dependencies: ["KithDocuments"]),
        // Writes to a database and looks whether all is there; a process of its own, since the tests kill it.
        .executableTarget(
            name: "KithStoreProbe", dependencies: ["KithDocuments", "KithStore"], path: "Tests/KithStoreProbe"),
        // A file system for SQLite that fails when a test wants it.
        .target(name: "CFaultVFS", dependencies: ["CSQLite"], path: "Tests/CFaultVFS"),
        .testTarget(
            name: "KithStoreTests", dependencies: ["KithStore", "CSQLite", "CFaultVFS", "KithStoreProbe"]),
        .testTarget(name: "KithWireTests", dependencies: ["KithWire"]),
        .testTarget(name: "KithTransportTests", dependencies: ["KithTransport", "KithTrust"]),
        .testTarget(name: "KithTrustTests", dependencies: ["KithTrust"]),
        .testTarget(name: "KithAccessTests", dependencies: ["KithAccess", "KithDocuments"]),
        // Prints what discovery sees; a process of its own, since the tests give it other surroundings (no D-Bus, a LAN).
        .executableTarget(
            name: "KithDiscoveryProbe", dependencies: ["KithDiscovery"], path: "Tests/KithDiscoveryProbe"),
        .testTarget(name: "KithDiscoveryTests", dependencies: ["KithDiscovery", "KithDiscoveryProbe"]),
        .testTarget(name: "KithReplicationTests", dependencies: ["KithReplication", "KithSimulation"]),
        .testTarget(name: "KithCommandsTests", dependencies: ["KithCommands", "KithTrust"], exclude: ["Golden"]),
        .testTarget(
            name: "KithNodeTests",
            dependencies: ["KithNode", "Kith", "KithDocuments", "KithStore", "KithTransport", "KithTrust"]),
        .testTarget(name: "KithSimulationTests", dependencies: ["KithSimulation"]),
    ]
        + (wantsFuzzers
            ? [
                .executableTarget(
                    name: "KithFuzz",
                    dependencies: [
                        "KithDocuments", "KithStore", "KithWire", "KithTrust", "KithDiscovery", "KithReplication",
                    ],
                    path: "Tests/Fuzz",
                    swiftSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-parse-as-library"])],
                    linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address"])])
            ] : []),
    swiftLanguageModes: [.v6]
)

if let chosenTargets {
    let byName = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
    var kept: Set<String> = []
    var waiting = chosenTargets
    while let name = waiting.popLast() {
        guard let target = byName[name] else { fatalError("KITH_ONLY names \(name), which is no target") }
        guard kept.insert(name).inserted else { continue }
        for case .byNameItem(let dependency, _) in target.dependencies { waiting.append(dependency) }
    }
    package.targets.removeAll { !kept.contains($0.name) }
    package.products.removeAll()
}
