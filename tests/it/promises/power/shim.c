/* Stands between a process and its disk (LD_PRELOAD). Watches the files of one folder, PIEME_SHIM_FOLDER.
 *
 * PIEME_SHIM_LOG=FILE      writes down what is asked of the disk, in order, to be replayed with a power cut in it.
 * PIEME_SHIM_FULL_AFTER=N  after N writes the disk is full: files that are there can be written over, not made longer.
 *                          A file `room` in the folder ends that; a file `full` makes the disk full at once.
 *
 * A record: op, length of the name, name, offset, length, bytes; numbers are 64 bits of this machine.
 * C create, W write, T truncate, S sync, D sync of the folder, R rename (bytes: new name), U unlink.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES 1024
static char names[FILES][64];
static char folder[PATH_MAX];
static int log_fd = -1;
static long full_after = -1, writes;

__attribute__((constructor)) static void start(void) {
    const char *where = getenv("PIEME_SHIM_FOLDER"), *log = getenv("PIEME_SHIM_LOG"), *after = getenv("PIEME_SHIM_FULL_AFTER");
    if (where) snprintf(folder, sizeof folder, "%s", where);
    if (log) log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (after) full_after = atol(after);
}

/* The name inside the folder, "." for the folder itself; none for other files and for shared memory, which no power cut keeps. */
static const char *inside(const char *path) {
    size_t length = strlen(folder);
    if (!length || !path || strncmp(path, folder, length)) return NULL;
    if (!path[length] || !strcmp(path + length, "/")) return ".";
    if (path[length] != '/') return NULL;
    const char *name = path + length + 1;
    if (strchr(name, '/') || strlen(name) >= sizeof names[0]) return NULL;
    if (strncmp(name, "pieme.db", 8) && strcmp(name, "acks")) return NULL;
    size_t end = strlen(name);
    return end > 4 && !strcmp(name + end - 4, "-shm") ? NULL : name;
}

static const char *name_of(int fd) { return fd >= 0 && fd < FILES && names[fd][0] ? names[fd] : NULL; }

static void record(char op, const char *name, uint64_t offset, const void *bytes, uint64_t length) {
    if (log_fd < 0 || !name) return;
    char head[1 + 8];
    uint64_t name_length = strlen(name), tail[2] = {offset, length};
    head[0] = op;
    memcpy(head + 1, &name_length, 8);
    struct iovec parts[4] = {{head, 9}, {(void *)name, name_length}, {tail, 16}, {(void *)bytes, bytes ? length : 0}};
    if (!bytes) tail[1] = 0;
    syscall(SYS_writev, log_fd, parts, 4);
}

static int exists(const char *name) {
    char path[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

static int is_full(int fd, uint64_t end) {
    const char *name = name_of(fd);
    if (!name || !strcmp(name, "acks")) return 0;
    writes++;
    if (!exists("full") && !(full_after >= 0 && writes > full_after && !exists("room"))) return 0;
    struct stat state;
    if (fstat(fd, &state) || end <= (uint64_t)state.st_size) return 0;
    errno = ENOSPC;
    return 1;
}

static int opened(int fd, const char *path, int flags, int was_there) {
    if (fd < 0 || fd >= FILES) return fd;
    const char *name = inside(path);
    snprintf(names[fd], sizeof names[fd], "%s", name ? name : "");
    if (name && !was_there && (flags & O_CREAT)) record('C', name, 0, NULL, 0);
    if (name && was_there && (flags & O_TRUNC)) record('T', name, 0, NULL, 0);
    return fd;
}

static int open_at(int at, const char *path, int flags, mode_t mode) {
    int was_there = inside(path) ? syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0 : 1;
    return opened((int)syscall(SYS_openat, at, path, flags, mode), path, flags, was_there);
}

#define OPEN(NAME) int NAME(const char *path, int flags, ...) { \
    va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); return open_at(AT_FDCWD, path, flags, mode); }
#define OPENAT(NAME) int NAME(int at, const char *path, int flags, ...) { \
    va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); return open_at(at, path, flags, mode); }
OPEN(open) OPEN(open64) OPENAT(openat) OPENAT(openat64)

int close(int fd) {
    if (fd >= 0 && fd < FILES) names[fd][0] = 0;
    return (int)syscall(SYS_close, fd);
}

static ssize_t write_at(int fd, const void *bytes, size_t length, off_t offset) {
    if (is_full(fd, offset + length)) return -1;
    ssize_t done = syscall(SYS_pwrite64, fd, bytes, length, offset);
    if (done > 0) record('W', name_of(fd), offset, bytes, done);
    return done;
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return write_at(fd, bytes, length, offset); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) { return write_at(fd, bytes, length, offset); }

ssize_t write(int fd, const void *bytes, size_t length) {
    const char *name = name_of(fd);
    struct stat state = {0};
    if (name) fstat(fd, &state); /* only the acks are written so, to the end of their file */
    ssize_t done = syscall(SYS_write, fd, bytes, length);
    if (name && done > 0) record('W', name, state.st_size, bytes, done);
    return done;
}

static int cut(int fd, off_t length) {
    int done = (int)syscall(SYS_ftruncate, fd, length);
    if (!done) record('T', name_of(fd), length, NULL, 0);
    return done;
}
int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off64_t length) { return cut(fd, length); }

static int sync_file(long call, int fd) {
    int done = (int)syscall(call, fd);
    const char *name = name_of(fd);
    if (!done && name) record(strcmp(name, ".") ? 'S' : 'D', name, 0, NULL, 0);
    return done;
}
int fsync(int fd) { return sync_file(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_file(SYS_fdatasync, fd); }

int rename(const char *from, const char *to) {
    int done = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    const char *old = inside(from), *new = inside(to);
    if (!done && old && new) record('R', old, 0, new, strlen(new));
    return done;
}

int unlink(const char *path) {
    int done = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (!done) record('U', inside(path), 0, NULL, 0);
    return done;
}
