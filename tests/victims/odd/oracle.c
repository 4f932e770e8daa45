// plugin: counts calls of the C allocation functions of a recorded process in a file that it shares with others, -shared -fPIC
//
// It is preloaded beside the recorder and asks nobody: no lookup of symbols, no locks, no memory of its own but the counters. The
// file is named by HEAPWISE_ORACLE. A process without HEAPWISE_SESSION is not recorded, and not counted either. Everything is an
// atomic in a shared mapping, so forks, threads and a child of vfork count on.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t), *__libc_valloc(size_t), *__libc_pvalloc(size_t);
extern void __libc_free(void *);
extern char **environ;

// The order of the harness's table in tests/src/oracle.rs.
enum { MALLOC, CALLOC, REALLOC, POSIX_MEMALIGN, ALIGNED_ALLOC, MEMALIGN, VALLOC, PVALLOC, FREE, FUNCTIONS };
// `blocks`: handed out, or for free taken back. `resized`: realloc of a block to another, or the same. `released`: realloc of a
// block to nothing. `failed`: no block. `nothing`: free of NULL.
struct counts { _Atomic uint64_t blocks, bytes, resized, released, failed, nothing; };

static struct counts *_Atomic shared;
#define UNWANTED ((struct counts *)1)

static const char *variable(const char *name) {
    size_t len = strlen(name);
    for (char **entry = environ; entry && *entry; entry++)
        if (!strncmp(*entry, name, len) && (*entry)[len] == '=') return *entry + len + 1;
    return NULL;
}

static struct counts *find(void) {
    int before = errno;
    struct counts *found = UNWANTED, *none = NULL;
    const char *path = variable("HEAPWISE_ORACLE");
    if (path && variable("HEAPWISE_SESSION")) {
        int file = open(path, O_RDWR | O_CLOEXEC);
        if (file >= 0) {
            void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            if (at != MAP_FAILED) found = at;
            close(file);
        }
    }
    if (!__atomic_compare_exchange_n((struct counts **)&shared, &none, found, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        if (found != UNWANTED) munmap(found, 4096);
        found = none;
    }
    errno = before;
    return found;
}

static inline struct counts *of(int function) {
    struct counts *all = shared;
    if (!all) all = find();
    return all == UNWANTED ? NULL : all + function;
}

static inline void *handed_out(int function, void *block, size_t bytes) {
    struct counts *counts = of(function);
    if (!counts) return block;
    if (!block) {
        counts->failed++;
        return NULL;
    }
    counts->blocks++;
    counts->bytes += bytes;
    return block;
}

void *malloc(size_t size) { return handed_out(MALLOC, __libc_malloc(size), size); }
void *calloc(size_t n, size_t size) { return handed_out(CALLOC, __libc_calloc(n, size), n * size); }
void *memalign(size_t align, size_t size) { return handed_out(MEMALIGN, __libc_memalign(align, size), size); }
void *valloc(size_t size) { return handed_out(VALLOC, __libc_valloc(size), size); }
void *pvalloc(size_t size) { return handed_out(PVALLOC, __libc_pvalloc(size), size); }
void *aligned_alloc(size_t align, size_t size) { return handed_out(ALIGNED_ALLOC, __libc_memalign(align, size), size); }

int posix_memalign(void **out, size_t align, size_t size) {
    if (align % sizeof(void *) || !align || (align & (align - 1))) {
        handed_out(POSIX_MEMALIGN, NULL, size);
        return EINVAL;
    }
    int before = errno;
    void *block = handed_out(POSIX_MEMALIGN, __libc_memalign(align, size), size);
    errno = before;
    if (!block) return ENOMEM;
    *out = block;
    return 0;
}

void *realloc(void *old, size_t size) {
    if (!old) return handed_out(REALLOC, __libc_realloc(old, size), size);
    struct counts *counts = of(REALLOC);
    void *block = __libc_realloc(old, size);
    if (!counts) return block;
    if (block) {
        counts->resized++;
        counts->bytes += size;
    } else if (size == 0) {
        counts->released++;
    } else {
        counts->failed++;
    }
    return block;
}

void free(void *block) {
    struct counts *counts = of(FREE);
    if (counts) {
        if (block) counts->blocks++;
        else counts->nothing++;
    }
    __libc_free(block);
}
