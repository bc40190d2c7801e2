import CFaultVFS

/// A file system for databases, by name, whose calls fail when a test wants it: see `fault_vfs.h`.
///
/// `@unchecked Sendable`: the pointer never changes, and the C code locks.
final class FaultVFS: @unchecked Sendable {
    struct NoMemory: Error {}
    struct CannotSave: Error {}

    let name: String
    private let vfs: OpaquePointer

    init() throws {
        let name = "kith-fault-\(UInt64.random(in: 0...UInt64.max))"
        guard let vfs = kith_fault_vfs_create(name) else { throw NoMemory() }
        self.name = name
        self.vfs = vfs
    }

    deinit { kith_fault_vfs_destroy(vfs) }

    /// Sets what is to happen, and when; calls are counted from 1 on, beginning now.
    func arm(_ fault: Fault) { kith_fault_vfs_arm(vfs, fault.mode, fault.kind, fault.number) }

    /// Lets everything work again.
    func disarm() { kith_fault_vfs_disarm(vfs) }

    /// Cuts the power now.
    func cutPower() { kith_fault_vfs_cut_power(vfs) }

    /// Calls that were counted.
    var count: Int { kith_fault_vfs_count(vfs) }

    /// Writes what the disk has after the power cut into a folder.
    func save(to folder: String, seed: UInt64, percent: Int32) throws {
        guard kith_fault_vfs_save(vfs, folder, seed, percent) == 0 else { throw CannotSave() }
    }
}
