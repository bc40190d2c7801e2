// A file system for SQLite whose calls can be made to fail, and whose power can be cut. For tests.
//
// It sits on top of SQLite's own one ("unix"), so files, locks and shared memory are real. What it counts and lets fail
// are the calls that change files: xOpen, xWrite, xSync, xTruncate, xDelete, xShmMap.
//
// For power cuts it keeps a second picture of each file: what was synced, and what was written since. Nothing is synced
// for real, which makes it quick.
#ifndef KITH_FAULT_VFS_H
#define KITH_FAULT_VFS_H

typedef struct kith_fault_vfs kith_fault_vfs;

// What happens at the chosen call.
enum kith_fault_mode {
    KITH_FAULT_NONE,    // nothing: calls are only counted
    KITH_FAULT_ONCE,    // that call fails, of a write half is done
    KITH_FAULT_FOREVER, // that call and all counted ones after it fail
    KITH_FAULT_SILENT,  // that call does nothing and says that it went well: what no disk should do
    KITH_FAULT_LOSES,   // that call fails, and if it is a sync, what it was to sync never gets to the disk
    KITH_FAULT_POWER    // the power is cut: that call and everything after it, reading too, fails
};

// What failing calls report, and which are counted.
enum kith_fault_kind {
    KITH_FAULT_ERROR, // the input/output error of the call
    KITH_FAULT_FULL   // no space is left; only writes are counted, since the others need none
};

// Registers a file system with SQLite under a name, NULL when there is no memory.
kith_fault_vfs *kith_fault_vfs_create(const char *name);

// Takes it away again; no database may use it any more.
void kith_fault_vfs_destroy(kith_fault_vfs *vfs);

// Sets what is to happen at the call with this number, counted from 1 beginning now, and forgets all files: none may be
// open. With KITH_FAULT_POWER, files that are there count as synced.
void kith_fault_vfs_arm(kith_fault_vfs *vfs, enum kith_fault_mode mode, enum kith_fault_kind kind, long number);

// Lets everything work again; with cut power only what opens files anew.
void kith_fault_vfs_disarm(kith_fault_vfs *vfs);

// Cuts the power now. For KITH_FAULT_LOSES, where files that are there count as synced too.
void kith_fault_vfs_cut_power(kith_fault_vfs *vfs);

// Calls counted since it was armed.
long kith_fault_vfs_count(kith_fault_vfs *vfs);

// Writes the files as the disk has them after the power cut into a folder, under their names: what was synced, and of
// every sector written since, and of every file made, cut or removed since, with a probability of percent / 100 the new
// state. 0, or -1 when a file cannot be written.
int kith_fault_vfs_save(kith_fault_vfs *vfs, const char *folder, unsigned long long seed, int percent);

#endif
