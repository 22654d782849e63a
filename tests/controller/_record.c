/* Preloaded into a process: writes down what it does to the files of one folder, in order.

   One record per call: the letter of the call, inode, offset, length of the path, length of the
   data, path, data. W: a write. T: cut or extended to the offset. S: synced. M: renamed, L: linked,
   the data being the new path. U: removed. D: the folder was synced. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

static int under(const char *path) {
    const char *root = getenv("RECORD_FOLDER");
    return root && strncmp(path, root, strlen(root)) == 0;
}

static void put(char what, uint64_t inode, uint64_t offset, const char *path, const void *data,
                uint64_t size) {
    static int out = -1;
    if (out < 0) out = open(getenv("RECORD_TO"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    uint64_t head[4] = {inode, offset, strlen(path), size};
    syscall(SYS_write, out, &what, 1);
    syscall(SYS_write, out, head, sizeof head);
    syscall(SYS_write, out, path, head[2]);
    if (size) syscall(SYS_write, out, data, size);
}

static void of(char what, int fd, uint64_t offset, const void *data, uint64_t size) {
    char link[64], path[PATH_MAX];
    struct stat found;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return;
    path[n] = 0;
    if (!under(path) || fstat(fd, &found)) return;
    if (S_ISDIR(found.st_mode)) what = 'D';
    put(what, found.st_ino, offset, path, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    ssize_t n = REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t)(fd, data, size, at);
    if (n > 0) of('W', fd, at, data, n);
    return n;
}
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) { return pwrite(fd, data, size, at); }

ssize_t write(int fd, const void *data, size_t size) {
    int flags = fcntl(fd, F_GETFL);
    off_t at = lseek(fd, 0, flags >= 0 && (flags & O_APPEND) ? SEEK_END : SEEK_CUR);
    ssize_t n = REAL(ssize_t, "write", int, const void *, size_t)(fd, data, size);
    if (n > 0 && at >= 0) of('W', fd, at, data, n);
    return n;
}

int ftruncate(int fd, off_t size) {
    int n = REAL(int, "ftruncate64", int, off_t)(fd, size);
    if (!n) of('T', fd, size, 0, 0);
    return n;
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

int fsync(int fd) {
    int n = REAL(int, "fsync", int)(fd);
    of('S', fd, 0, 0, 0);
    return n;
}
int fdatasync(int fd) {
    int n = REAL(int, "fdatasync", int)(fd);
    of('S', fd, 0, 0, 0);
    return n;
}

static int two(int n, char what, const char *from, const char *to) {
    if (!n && under(from)) put(what, 0, 0, from, to, strlen(to));
    return n;
}
int rename(const char *from, const char *to) {
    return two(REAL(int, "rename", const char *, const char *)(from, to), 'M', from, to);
}
int link(const char *from, const char *to) {
    return two(REAL(int, "link", const char *, const char *)(from, to), 'L', from, to);
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
    int n = REAL(int, "linkat", int, const char *, int, const char *, int)(a, from, b, to, flags);
    return two(n, 'L', from, to);
}
int unlink(const char *path) {
    return two(REAL(int, "unlink", const char *)(path), 'U', path, "");
}
