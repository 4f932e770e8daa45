// What the allocator itself says about its free memory, on standard error: "says allocator=NAME free=BYTES".
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>

static inline void allocator_says(void) {
    int (*mallctl)(const char *, void *, size_t *, void *, size_t) =
        (int (*)(const char *, void *, size_t *, void *, size_t))dlsym(RTLD_DEFAULT, "mallctl");
    if (mallctl) {
        unsigned long long epoch = 1;
        size_t resident = 0, metadata = 0, allocated = 0, n = sizeof(size_t);
        mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
        mallctl("stats.resident", &resident, &n, NULL, 0);
        mallctl("stats.metadata", &metadata, &n, NULL, 0);
        mallctl("stats.allocated", &allocated, &n, NULL, 0);
        fprintf(stderr, "says allocator=jemalloc free=%zu\n", resident - metadata - allocated);
    } else {
        struct mallinfo2 info = mallinfo2();
        fprintf(stderr, "says allocator=glibc free=%zu\n", info.fordblks);
    }
}
