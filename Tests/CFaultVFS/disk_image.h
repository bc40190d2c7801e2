// What a disk holds of the files of a folder: what was synced, and what was done since and may be lost.
#ifndef KITH_DISK_IMAGE_H
#define KITH_DISK_IMAGE_H
#include <stddef.h>
#include <sys/types.h>

struct change {
    struct change *next;
    long long offset;
    size_t length;        // of `bytes`; unused for a truncation
    int is_truncation;    // to `offset` bytes
    unsigned char bytes[];
};

struct image {
    struct image *next;
    char *path;
    dev_t device;
    ino_t inode;
    unsigned char *synced;
    long long synced_length;
    struct change *first, **last;  // since the last sync, the oldest first
    int name_is_synced;            // whether the folder is known to have the file
    int is_removed;                // removed, but perhaps not on the disk
    int was_there;                 // at the power cut
};

struct disk {
    struct image *images;
};

// The image of a file that was just opened; it makes one if need be. NULL without memory.
struct image *disk_opened(struct disk *disk, const char *path, int is_new);
int disk_written(struct image *image, const void *bytes, size_t length, long long offset);
int disk_truncated(struct image *image, long long length);
int disk_synced(struct disk *disk, struct image *image);
// What was written since the last sync never gets to the disk.
void disk_lost(struct image *image);
void disk_removed(struct disk *disk, const char *path, int is_synced);
// Remembers which files are there: what the program does afterwards does not reach the disk.
void disk_power_cut(struct disk *disk);
int disk_save(struct disk *disk, const char *folder, unsigned long long seed, int percent);
void disk_forget(struct disk *disk);

#endif
