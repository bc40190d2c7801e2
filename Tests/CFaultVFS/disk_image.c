#include "disk_image.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A disk writes a sector whole or not at all.
enum { SECTOR = 512 };

static void forget_changes(struct image *image) {
    while (image->first) {
        struct change *next = image->first->next;
        free(image->first);
        image->first = next;
    }
    image->last = &image->first;
}

static void forget(struct disk *disk, struct image *image) {
    struct image **link = &disk->images;
    while (*link && *link != image) link = &(*link)->next;
    if (*link) *link = image->next;
    forget_changes(image);
    free(image->synced);
    free(image->path);
    free(image);
}

void disk_forget(struct disk *disk) {
    while (disk->images) forget(disk, disk->images);
}

static int is_the_file(const struct image *image, const struct stat *status) {
    return image->device == status->st_dev && image->inode == status->st_ino;
}

// The image of the file that has this name now: also of one that was linked to it from a name that it no longer has.
static struct image *find(struct disk *disk, const char *path, const struct stat *status) {
    for (struct image *image = disk->images; image; image = image->next) {
        struct stat other;
        if (image->is_removed || !is_the_file(image, status)) continue;
        if (strcmp(image->path, path) == 0) return image;
        if (stat(image->path, &other) == 0 && is_the_file(image, &other)) continue;
        char *copy = strdup(path);
        if (!copy) return NULL;
        free(image->path);
        image->path = copy;
        return image;
    }
    return NULL;
}

static int read_whole(const char *path, unsigned char **bytes, long long *length) {
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    *bytes = NULL;
    *length = 0;
    int result = fstat(file, &status);
    if (result == 0 && status.st_size > 0) {
        *bytes = malloc((size_t)status.st_size);
        *length = status.st_size;
        result = *bytes && pread(file, *bytes, (size_t)status.st_size, 0) == status.st_size ? 0 : -1;
    }
    close(file);
    return result;
}

struct image *disk_opened(struct disk *disk, const char *path, int is_new) {
    struct stat status;
    if (stat(path, &status) != 0) return NULL;
    // What had this name, or the number of this file, and was removed behind our back.
    for (struct image *image = disk->images, *next; image; image = next) {
        next = image->next;
        int has_name = strcmp(image->path, path) == 0;
        if (!image->is_removed && ((has_name && !is_the_file(image, &status)) || (is_new && is_the_file(image, &status))))
            forget(disk, image);
    }
    struct image *image = is_new ? NULL : find(disk, path, &status);
    if (image) return image;
    image = calloc(1, sizeof *image);
    if (!image) return NULL;
    image->last = &image->first;
    image->device = status.st_dev;
    image->inode = status.st_ino;
    image->path = strdup(path);
    image->name_is_synced = !is_new;
    image->next = disk->images;
    disk->images = image;
    if (!image->path || (!is_new && read_whole(path, &image->synced, &image->synced_length) != 0)) {
        forget(disk, image);
        return NULL;
    }
    return image;
}

static int append(struct image *image, const void *bytes, size_t length, long long offset, int is_truncation) {
    struct change *change = malloc(sizeof *change + length);
    if (!change) return -1;
    change->next = NULL;
    change->offset = offset;
    change->length = length;
    change->is_truncation = is_truncation;
    if (length > 0) memcpy(change->bytes, bytes, length);
    *image->last = change;
    image->last = &change->next;
    return 0;
}

int disk_written(struct image *image, const void *bytes, size_t length, long long offset) {
    return append(image, bytes, length, offset, 0);
}

int disk_truncated(struct image *image, long long length) { return append(image, NULL, 0, length, 1); }

static int resize(unsigned char **bytes, long long *length, long long wanted) {
    if (wanted > *length) {
        unsigned char *larger = realloc(*bytes, (size_t)wanted);
        if (!larger) return -1;
        memset(larger + *length, 0, (size_t)(wanted - *length));
        *bytes = larger;
    }
    *length = wanted;
    return 0;
}

static int put(unsigned char **bytes, long long *length, const unsigned char *from, size_t count, long long offset) {
    long long end = offset + (long long)count;
    if (end > *length && resize(bytes, length, end) != 0) return -1;
    memcpy(*bytes + offset, from, count);
    return 0;
}

int disk_synced(struct disk *disk, struct image *image) {
    for (struct change *change = image->first; change; change = change->next) {
        int result = change->is_truncation
            ? resize(&image->synced, &image->synced_length, change->offset)
            : put(&image->synced, &image->synced_length, change->bytes, change->length, change->offset);
        if (result != 0) return -1;
    }
    forget_changes(image);
    if (image->name_is_synced) return 0;
    // SQLite's file system syncs the folder of a new log with its first sync, and with it all names.
    for (struct image *other = disk->images, *next; other; other = next) {
        next = other->next;
        other->name_is_synced = 1;
        if (other->is_removed) forget(disk, other);
    }
    return 0;
}

void disk_lost(struct image *image) { forget_changes(image); }

void disk_removed(struct disk *disk, const char *path, int is_synced) {
    for (struct image *image = disk->images; image; image = image->next) {
        if (image->is_removed || strcmp(image->path, path) != 0) continue;
        image->is_removed = 1;
        if (is_synced || !image->name_is_synced) forget(disk, image);
        return;
    }
}

void disk_power_cut(struct disk *disk) {
    for (struct image *image = disk->images; image; image = image->next) {
        struct stat status;
        image->was_there = image->is_removed || (stat(image->path, &status) == 0 && is_the_file(image, &status));
    }
}

static unsigned long long next_random(unsigned long long *state) {
    unsigned long long value = *state += 0x9E3779B97F4A7C15ull;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
    return value ^ (value >> 31);
}

static int survives(unsigned long long *random, int percent) { return (int)(next_random(random) % 100) < percent; }

// Does what of a change has reached the disk.
static int apply(
    const struct change *change, unsigned char **bytes, long long *length, unsigned long long *random, int percent) {
    if (change->is_truncation) return survives(random, percent) ? resize(bytes, length, change->offset) : 0;
    for (size_t done = 0; done < change->length;) {
        size_t count = (size_t)(SECTOR - (change->offset + (long long)done) % SECTOR);
        if (count > change->length - done) count = change->length - done;
        if (survives(random, percent)
            && put(bytes, length, change->bytes + done, count, change->offset + (long long)done) != 0)
            return -1;
        done += count;
    }
    return 0;
}

static int save(const struct image *image, const char *folder, unsigned long long *random, int percent) {
    long long length = image->synced_length;
    unsigned char *bytes = NULL;
    int result = 0;
    if (length > 0) {
        bytes = malloc((size_t)length);
        if (!bytes) return -1;
        memcpy(bytes, image->synced, (size_t)length);
    }
    for (const struct change *change = image->first; change && result == 0; change = change->next)
        result = apply(change, &bytes, &length, random, percent);
    const char *slash = strrchr(image->path, '/');
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, slash ? slash + 1 : image->path);
    int file = result == 0 ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (file < 0 || write(file, bytes, (size_t)length) != length) result = -1;
    if (file >= 0) close(file);
    free(bytes);
    return result;
}

int disk_save(struct disk *disk, const char *folder, unsigned long long seed, int percent) {
    unsigned long long random = seed;
    // A removed file may be there still, but not beside a newer one of its name: those are saved after it.
    for (int removed = 1; removed >= 0; removed--) {
        for (const struct image *image = disk->images; image; image = image->next) {
            if (image->is_removed != removed || !image->was_there) continue;
            if (image->is_removed && survives(&random, percent)) continue;
            if (!image->name_is_synced && !survives(&random, percent)) continue;
            if (save(image, folder, &random, percent) != 0) return -1;
        }
    }
    return 0;
}
