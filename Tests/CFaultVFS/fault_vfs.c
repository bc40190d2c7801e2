#include "fault_vfs.h"
#include "disk_image.h"
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct kith_fault_vfs {
    sqlite3_vfs base;
    sqlite3_vfs *real;
    pthread_mutex_t mutex;  // over all that follows
    enum kith_fault_mode mode;
    enum kith_fault_kind kind;
    long number, count;
    long power_cuts;        // files opened before the last one stay dead
    struct disk disk;
};

struct fault_file {
    sqlite3_file base;
    kith_fault_vfs *vfs;
    struct image *image;    // only where power can be cut
    long power_cuts;
    sqlite3_file real[];
};

enum verdict { PROCEED, PRETEND, FAIL };

static struct fault_file *fault_file(sqlite3_file *file) { return (struct fault_file *)file; }
static sqlite3_file *real(sqlite3_file *file) { return fault_file(file)->real; }
static kith_fault_vfs *fault_vfs(sqlite3_vfs *vfs) { return (kith_fault_vfs *)vfs; }

static void lock(kith_fault_vfs *vfs) { pthread_mutex_lock(&vfs->mutex); }
static void unlock(kith_fault_vfs *vfs) { pthread_mutex_unlock(&vfs->mutex); }

static int power_is_cut(const kith_fault_vfs *vfs) { return vfs->mode == KITH_FAULT_POWER && vfs->count >= vfs->number; }
static int keeps_images(const kith_fault_vfs *vfs) {
    return vfs->mode == KITH_FAULT_POWER || vfs->mode == KITH_FAULT_LOSES;
}
static int is_dead(const struct fault_file *file) {
    return power_is_cut(file->vfs) || file->power_cuts != file->vfs->power_cuts;
}

// Counts a call, and says what becomes of it. Under the lock.
static enum verdict count_call(kith_fault_vfs *vfs, int is_write) {
    if (power_is_cut(vfs)) return FAIL;
    if (vfs->kind == KITH_FAULT_FULL && !is_write) return PROCEED;
    vfs->count++;
    switch (vfs->mode) {
    case KITH_FAULT_NONE: return PROCEED;
    case KITH_FAULT_ONCE:
    case KITH_FAULT_LOSES: return vfs->count == vfs->number ? FAIL : PROCEED;
    case KITH_FAULT_FOREVER: return vfs->count >= vfs->number ? FAIL : PROCEED;
    case KITH_FAULT_SILENT: return vfs->count == vfs->number ? PRETEND : PROCEED;
    case KITH_FAULT_POWER:
        if (vfs->count < vfs->number) return PROCEED;
        disk_power_cut(&vfs->disk);
        return FAIL;
    }
    return PROCEED;
}

// MARK: Files

static int fault_close(sqlite3_file *file) { return real(file)->pMethods->xClose(real(file)); }

static int fault_read(sqlite3_file *file, void *bytes, int length, sqlite3_int64 offset) {
    lock(fault_file(file)->vfs);
    int dead = is_dead(fault_file(file));
    unlock(fault_file(file)->vfs);
    return dead ? SQLITE_IOERR_READ : real(file)->pMethods->xRead(real(file), bytes, length, offset);
}

static int fault_write(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 offset) {
    struct fault_file *fault = fault_file(file);
    int result = SQLITE_OK;
    lock(fault->vfs);
    int was_dead = is_dead(fault);
    enum verdict verdict = was_dead ? FAIL : count_call(fault->vfs, 1);
    // Of a write that fails, a part may have been done.
    int done = verdict == PROCEED ? length : verdict == FAIL && !was_dead ? length / 2 : 0;
    if (done > 0) result = real(file)->pMethods->xWrite(real(file), bytes, done, offset);
    if (result == SQLITE_OK && fault->image && !was_dead
        && disk_written(fault->image, bytes, (size_t)length, offset) != 0)
        result = SQLITE_NOMEM;
    if (verdict == FAIL) result = fault->vfs->kind == KITH_FAULT_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    unlock(fault->vfs);
    return result;
}

static int fault_truncate(sqlite3_file *file, sqlite3_int64 length) {
    struct fault_file *fault = fault_file(file);
    int result = SQLITE_OK;
    lock(fault->vfs);
    int was_dead = is_dead(fault);
    enum verdict verdict = was_dead ? FAIL : count_call(fault->vfs, 0);
    if (verdict == PROCEED) result = real(file)->pMethods->xTruncate(real(file), length);
    if (result == SQLITE_OK && fault->image && !was_dead && disk_truncated(fault->image, length) != 0)
        result = SQLITE_NOMEM;
    if (verdict == FAIL) result = SQLITE_IOERR_TRUNCATE;
    unlock(fault->vfs);
    return result;
}

static int fault_sync(sqlite3_file *file, int flags) {
    (void)flags;
    struct fault_file *fault = fault_file(file);
    int result = SQLITE_OK;
    lock(fault->vfs);
    enum verdict verdict = is_dead(fault) ? FAIL : count_call(fault->vfs, 0);
    if (verdict == FAIL && fault->image && fault->vfs->mode == KITH_FAULT_LOSES) disk_lost(fault->image);
    if (verdict == PROCEED && fault->image && disk_synced(&fault->vfs->disk, fault->image) != 0) result = SQLITE_NOMEM;
    if (verdict == FAIL) result = SQLITE_IOERR_FSYNC;
    unlock(fault->vfs);
    return result;
}

static int fault_size(sqlite3_file *file, sqlite3_int64 *size) {
    lock(fault_file(file)->vfs);
    int dead = is_dead(fault_file(file));
    unlock(fault_file(file)->vfs);
    return dead ? SQLITE_IOERR_FSTAT : real(file)->pMethods->xFileSize(real(file), size);
}

static int fault_shm_map(sqlite3_file *file, int region, int size, int extends, void volatile **address) {
    struct fault_file *fault = fault_file(file);
    lock(fault->vfs);
    enum verdict verdict = is_dead(fault) ? FAIL : count_call(fault->vfs, 0);
    unlock(fault->vfs);
    return verdict == FAIL ? SQLITE_IOERR_SHMMAP
                           : real(file)->pMethods->xShmMap(real(file), region, size, extends, address);
}

static int fault_lock(sqlite3_file *file, int level) { return real(file)->pMethods->xLock(real(file), level); }
static int fault_unlock(sqlite3_file *file, int level) { return real(file)->pMethods->xUnlock(real(file), level); }
static int fault_check_lock(sqlite3_file *file, int *out) {
    return real(file)->pMethods->xCheckReservedLock(real(file), out);
}
static int fault_control(sqlite3_file *file, int what, void *argument) {
    return real(file)->pMethods->xFileControl(real(file), what, argument);
}
static int fault_sector_size(sqlite3_file *file) { return real(file)->pMethods->xSectorSize(real(file)); }
static int fault_characteristics(sqlite3_file *file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}
static int fault_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}
static void fault_shm_barrier(sqlite3_file *file) { real(file)->pMethods->xShmBarrier(real(file)); }
static int fault_shm_unmap(sqlite3_file *file, int removes) {
    return real(file)->pMethods->xShmUnmap(real(file), removes);
}

// Version 2: without memory mapped reading of the file itself, which would go past this.
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = fault_close,
    .xRead = fault_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = fault_size,
    .xLock = fault_lock,
    .xUnlock = fault_unlock,
    .xCheckReservedLock = fault_check_lock,
    .xFileControl = fault_control,
    .xSectorSize = fault_sector_size,
    .xDeviceCharacteristics = fault_characteristics,
    .xShmMap = fault_shm_map,
    .xShmLock = fault_shm_lock,
    .xShmBarrier = fault_shm_barrier,
    .xShmUnmap = fault_shm_unmap,
};

// MARK: The file system

static int fault_open(sqlite3_vfs *base, sqlite3_filename path, sqlite3_file *file, int flags, int *flags_out) {
    kith_fault_vfs *vfs = fault_vfs(base);
    struct fault_file *fault = fault_file(file);
    // SQLite closes what has methods, also after a failure.
    file->pMethods = NULL;
    fault->vfs = vfs;
    fault->image = NULL;
    lock(vfs);
    fault->power_cuts = vfs->power_cuts;
    int is_new = path && access(path, F_OK) != 0;
    int result = SQLITE_OK;
    // A file that is there is on the disk whatever happens to this call.
    if (path && !is_new && vfs->mode == KITH_FAULT_POWER && !power_is_cut(vfs) && !disk_opened(&vfs->disk, path, 0))
        result = SQLITE_NOMEM;
    if (path && count_call(vfs, 0) == FAIL) {
        result = SQLITE_CANTOPEN;
        errno = EIO;  // which SQLite asks for
    }
    if (result == SQLITE_OK) result = vfs->real->xOpen(vfs->real, path, real(file), flags, flags_out);
    if (result == SQLITE_OK) {
        file->pMethods = &methods;
        if (path && keeps_images(vfs)) {
            fault->image = disk_opened(&vfs->disk, path, is_new);
            if (!fault->image) result = SQLITE_NOMEM;
        }
    }
    unlock(vfs);
    return result;
}

static int fault_delete(sqlite3_vfs *base, const char *path, int syncs_folder) {
    kith_fault_vfs *vfs = fault_vfs(base);
    lock(vfs);
    int was_cut = power_is_cut(vfs);
    enum verdict verdict = count_call(vfs, 0);
    int result = verdict == PROCEED ? vfs->real->xDelete(vfs->real, path, 0) : SQLITE_OK;
    // A removal in the moment of the power cut may have reached the disk.
    if (result == SQLITE_OK && keeps_images(vfs) && !was_cut)
        disk_removed(&vfs->disk, path, syncs_folder && verdict == PROCEED);
    if (verdict == FAIL) result = SQLITE_IOERR_DELETE;
    unlock(vfs);
    return result;
}

static int fault_access(sqlite3_vfs *base, const char *path, int flags, int *out) {
    kith_fault_vfs *vfs = fault_vfs(base);
    lock(vfs);
    int is_cut = power_is_cut(vfs);
    unlock(vfs);
    return is_cut ? SQLITE_IOERR_ACCESS : vfs->real->xAccess(vfs->real, path, flags, out);
}

// The rest of a sqlite3_vfs does not use its first argument where it is "unix".
kith_fault_vfs *kith_fault_vfs_create(const char *name) {
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    kith_fault_vfs *vfs = calloc(1, sizeof *vfs);
    char *copy = strdup(name);
    if (!real || !vfs || !copy) {
        free(vfs);
        free(copy);
        return NULL;
    }
    vfs->base = *real;
    vfs->base.pNext = NULL;
    vfs->base.zName = copy;
    vfs->base.szOsFile = (int)sizeof(struct fault_file) + real->szOsFile;
    vfs->base.xOpen = fault_open;
    vfs->base.xDelete = fault_delete;
    vfs->base.xAccess = fault_access;
    vfs->real = real;
    pthread_mutex_init(&vfs->mutex, NULL);
    sqlite3_vfs_register(&vfs->base, 0);
    return vfs;
}

void kith_fault_vfs_destroy(kith_fault_vfs *vfs) {
    sqlite3_vfs_unregister(&vfs->base);
    disk_forget(&vfs->disk);
    pthread_mutex_destroy(&vfs->mutex);
    free((char *)vfs->base.zName);
    free(vfs);
}

void kith_fault_vfs_arm(kith_fault_vfs *vfs, enum kith_fault_mode mode, enum kith_fault_kind kind, long number) {
    lock(vfs);
    disk_forget(&vfs->disk);
    vfs->mode = mode;
    vfs->kind = kind;
    vfs->number = number;
    vfs->count = 0;
    unlock(vfs);
}

void kith_fault_vfs_disarm(kith_fault_vfs *vfs) {
    lock(vfs);
    if (power_is_cut(vfs)) vfs->power_cuts++;
    vfs->mode = KITH_FAULT_NONE;
    unlock(vfs);
}

void kith_fault_vfs_cut_power(kith_fault_vfs *vfs) {
    lock(vfs);
    disk_power_cut(&vfs->disk);
    vfs->mode = KITH_FAULT_POWER;
    vfs->number = vfs->count;
    unlock(vfs);
}

long kith_fault_vfs_count(kith_fault_vfs *vfs) {
    lock(vfs);
    long count = vfs->count;
    unlock(vfs);
    return count;
}

int kith_fault_vfs_save(kith_fault_vfs *vfs, const char *folder, unsigned long long seed, int percent) {
    lock(vfs);
    int result = disk_save(&vfs->disk, folder, seed, percent);
    unlock(vfs);
    return result;
}
