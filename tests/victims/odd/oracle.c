// plugin: counts calls of the C allocation functions of a recorded process in a file that it shares with others, -shared -fPIC
//
// It is preloaded behind the recorder or in front of it, and passes every call on to whatever comes next. The file is named by
// HEAPWISE_ORACLE. A process without HEAPWISE_SESSION is not recorded, and not counted either. All counters are atomics in a
// shared mapping, so forks, threads and a child of vfork count on.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern char **environ;
extern void *__libc_stack_end;

// The order of the harness's table in tests/src/oracle.rs.
enum { MALLOC, CALLOC, REALLOC, POSIX_MEMALIGN, ALIGNED_ALLOC, MEMALIGN, VALLOC, PVALLOC, FREE, FUNCTIONS };
// `blocks`: handed out, or for free taken back. `resized`: realloc of a block to another, or the same. `released`: realloc of a
// block to nothing. `failed`: no block. `nothing`: free of NULL.
struct counts { _Atomic uint64_t blocks, bytes, resized, released, failed, nothing; };

static struct counts *_Atomic shared;
#define UNWANTED ((struct counts *)1)

static const char *variable(const char *name) {
    size_t len = strlen(name);
    char **entry = environ;
    // Before libc has begun its work the environment is where the kernel has put it: behind the arguments.
    if (!entry) entry = (char **)__libc_stack_end + 1 + *(size_t *)__libc_stack_end + 1;
    for (; *entry; entry++)
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

// At the latest when the recorder joins, for afterwards the program may close the way to the file.
__attribute__((constructor)) static void join(void) {
    if (!shared) find();
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

// dlsym may allocate. Meanwhile its thread is served from here, and these blocks are never given to the real functions.
static char early[16 << 10] __attribute__((aligned(16)));
static _Atomic size_t early_used;
static __thread int looking __attribute__((tls_model("initial-exec")));

static void *early_block(size_t size) {
    size_t at = __atomic_fetch_add((size_t *)&early_used, (size + 15) & ~15ul, __ATOMIC_RELAXED);
    return at + size <= sizeof early ? early + at : NULL;
}
static int is_early(const void *block) { return (const char *)block >= early && (const char *)block < early + sizeof early; }

static void *look_up(const char *name) {
    looking++;
    void *found = dlsym(RTLD_NEXT, name);
    looking--;
    if (!found) abort();
    return found;
}

static void *(*_Atomic found_malloc)(size_t);
static void *(*_Atomic found_calloc)(size_t, size_t);
static void *(*_Atomic found_memalign)(size_t, size_t);
static void *(*_Atomic found_aligned_alloc)(size_t, size_t);
static void *(*_Atomic found_valloc)(size_t);
static void *(*_Atomic found_pvalloc)(size_t);
static int (*_Atomic found_posix_memalign)(void **, size_t, size_t);
static void *(*_Atomic found_realloc)(void *, size_t);
static void (*_Atomic found_free)(void *);

// Defines `next`, the following function of that name; while it is looked up by this thread the function returns `meanwhile`.
#define NEXT(result, name, parameters, meanwhile) \
    if (looking) return meanwhile; \
    result (*next) parameters = found_##name; \
    if (!next) found_##name = next = (result (*) parameters)look_up(#name)

void *malloc(size_t size) {
    NEXT(void *, malloc, (size_t), early_block(size));
    return handed_out(MALLOC, next(size), size);
}
void *calloc(size_t n, size_t size) {
    NEXT(void *, calloc, (size_t, size_t), early_block(n * size));
    return handed_out(CALLOC, next(n, size), n * size);
}
void *memalign(size_t align, size_t size) {
    NEXT(void *, memalign, (size_t, size_t), NULL);
    return handed_out(MEMALIGN, next(align, size), size);
}
void *aligned_alloc(size_t align, size_t size) {
    NEXT(void *, aligned_alloc, (size_t, size_t), NULL);
    return handed_out(ALIGNED_ALLOC, next(align, size), size);
}
void *valloc(size_t size) {
    NEXT(void *, valloc, (size_t), NULL);
    return handed_out(VALLOC, next(size), size);
}
void *pvalloc(size_t size) {
    NEXT(void *, pvalloc, (size_t), NULL);
    return handed_out(PVALLOC, next(size), size);
}
int posix_memalign(void **out, size_t align, size_t size) {
    NEXT(int, posix_memalign, (void **, size_t, size_t), ENOMEM);
    int error = next(out, align, size);
    handed_out(POSIX_MEMALIGN, error ? NULL : *out, size);
    return error;
}

void *realloc(void *old, size_t size) {
    NEXT(void *, realloc, (void *, size_t), NULL);
    if (!old) return handed_out(REALLOC, next(old, size), size);
    struct counts *counts = of(REALLOC);
    void *block = next(old, size);
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

// Not one of the functions above in front of the recorder, which has this one, too.
void *reallocarray(void *old, size_t n, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) bytes = SIZE_MAX;
    return realloc(old, bytes);
}

void free(void *block) {
    if (looking || is_early(block)) return;
    void (*next)(void *) = found_free;
    if (!next) found_free = next = (void (*)(void *))look_up("free");
    struct counts *counts = of(FREE);
    if (counts) {
        if (block) counts->blocks++;
        else counts->nothing++;
    }
    next(block);
}

// A program may allocate for the first time in a callback of dl_iterate_phdr while another thread loads a library: dlsym would
// wait for that thread, and that thread for the callback.
__attribute__((constructor)) static void look_all_up(void) {
    found_malloc = (void *(*)(size_t))look_up("malloc");
    found_calloc = (void *(*)(size_t, size_t))look_up("calloc");
    found_realloc = (void *(*)(void *, size_t))look_up("realloc");
    found_free = (void (*)(void *))look_up("free");
}
