import Glibc

/// The fuzz targets by the names that `Tests/fuzz` takes.
private let targets: [(name: String, run: @Sendable (UnsafeRawBufferPointer) -> Void)] = [
    ("http-request", { fuzzHTTPRequest($0) }),
    ("http-response", { fuzzHTTPResponse($0) }),
    ("websocket", { fuzzWebSocket($0) }),
    ("blip", { fuzzBLIP($0) }),
    ("node-id", { fuzzNodeID($0) }),
    ("pairing", { fuzzPairing($0) }),
    ("invitation", { fuzzInvitation($0) }),
    ("statement", { fuzzStatement($0) }),
    ("canonical-json", { fuzzCanonicalJSON($0) }),
    ("revision-tree", { fuzzRevisionTree($0) }),
    ("revision-id", { fuzzRevisionID($0) }),
    ("replication", { fuzzReplicationMessages($0) }),
    ("service-text", { fuzzServiceText($0) }),
]

/// The names of all targets.
var fuzzTargetNames: [String] { targets.map(\.name) }

/// The target of this process, from the environment.
private let chosen: @Sendable (UnsafeRawBufferPointer) -> Void = {
    let name = getenv("KITH_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = targets.first(where: { $0.name == name }) else {
        fatalError("KITH_FUZZ_TARGET names none of \(fuzzTargetNames)")
    }
    return target.run
}()

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    chosen(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}
