/// What a check of a database has found.
public struct CheckReport: Sendable, Equatable {
    /// What is wrong, at most `StoreLimits.checkFaultsListedMax` of it; empty when the database is sound.
    public internal(set) var faults: [CheckFault] = []
    /// How much is wrong, those faults included that are not listed.
    public internal(set) var faultCount = 0
    /// Collections that were looked at.
    public internal(set) var collections = 0
    /// Documents that were looked at, tombstones included.
    public internal(set) var documents = 0
    /// Attachments that were looked at, each once however often it is used.
    public internal(set) var blobs = 0

    /// A report of what was found where nothing could be looked at.
    public init(faults: [CheckFault] = []) {
        for fault in faults { add(fault) }
    }

    /// Whether nothing is wrong.
    public var isSound: Bool { faultCount == 0 }

    mutating func add(_ fault: CheckFault) {
        faultCount += 1
        if faults.count < StoreLimits.checkFaultsListedMax { faults.append(fault) }
    }
}
