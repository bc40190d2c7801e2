import CFaultVFS

/// What a `FaultVFS` does at which of the calls that it counts.
struct Fault: CustomStringConvertible {
    let mode: kith_fault_mode
    let kind: kith_fault_kind
    var number: Int

    static func none(_ kind: kith_fault_kind = KITH_FAULT_ERROR) -> Fault {
        Fault(mode: KITH_FAULT_NONE, kind: kind, number: 0)
    }
    /// The call fails with an input/output error.
    static func error(at number: Int) -> Fault { Fault(mode: KITH_FAULT_ONCE, kind: KITH_FAULT_ERROR, number: number) }
    /// It and all after it do.
    static func errors(from number: Int) -> Fault {
        Fault(mode: KITH_FAULT_FOREVER, kind: KITH_FAULT_ERROR, number: number)
    }
    /// The write finds no space left.
    static func full(at number: Int) -> Fault { Fault(mode: KITH_FAULT_ONCE, kind: KITH_FAULT_FULL, number: number) }
    /// It and all after it do.
    static func full(from number: Int) -> Fault {
        Fault(mode: KITH_FAULT_FOREVER, kind: KITH_FAULT_FULL, number: number)
    }
    /// The call says that it went well, and did nothing.
    static func silent(at number: Int) -> Fault {
        Fault(mode: KITH_FAULT_SILENT, kind: KITH_FAULT_ERROR, number: number)
    }
    /// The call fails; if it was to flush, what was written never gets to the disk.
    static func lostFlush(at number: Int) -> Fault {
        Fault(mode: KITH_FAULT_LOSES, kind: KITH_FAULT_ERROR, number: number)
    }
    /// The machine is off from this call on.
    static func powerCut(at number: Int) -> Fault {
        Fault(mode: KITH_FAULT_POWER, kind: KITH_FAULT_ERROR, number: number)
    }

    var description: String {
        let names = [
            KITH_FAULT_NONE.rawValue: "nothing", KITH_FAULT_ONCE.rawValue: "a failure",
            KITH_FAULT_FOREVER.rawValue: "failures from then on", KITH_FAULT_SILENT.rawValue: "a silent failure",
            KITH_FAULT_LOSES.rawValue: "a lost flush", KITH_FAULT_POWER.rawValue: "a power cut",
        ]
        return "\(names[mode.rawValue] ?? "?") (\(kind == KITH_FAULT_FULL ? "full disk" : "I/O")) at call \(number)"
    }
}
