// victim: calls every allocation function of C once, with sizes that can be distinguished; flags:
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

// The volatile sink keeps the compiler from removing an allocation, and the store after the
// call keeps it from turning the call into a jump that would hide the function.
#define SITE __attribute__((noinline, noipa)) static
static void *volatile sink;

SITE void site_malloc(void) { sink = malloc(101); }
SITE void site_calloc(void) { sink = calloc(7, 11); }
SITE void site_realloc_null(void) { sink = realloc(NULL, 103); }
SITE void site_realloc_grow(void) { sink = realloc(sink, 10007); }
SITE void site_realloc_shrink(void) { sink = realloc(sink, 13); }
SITE void site_reallocarray(void) { sink = reallocarray(NULL, 3, 37); }
SITE void site_aligned_alloc(void) { sink = aligned_alloc(64, 128); }
SITE void site_memalign(void) { sink = memalign(128, 131); }
SITE void site_valloc(void) { sink = valloc(137); }
SITE void site_pvalloc(void) { sink = pvalloc(139); }
SITE void site_posix_memalign(void) {
    void *p = NULL;
    if (posix_memalign(&p, 64, 113) != 0) abort();
    sink = p;
}

static void take(const char *site, void (*f)(void), int bytes, int release) {
    f();
    if (!sink) abort();
    printf("expect site=%s blocks=1", site);
    if (bytes) printf(" bytes=%d", bytes);
    printf(" live=0\n");
    if (release) free(sink);
}
#define TAKE(site, bytes, release) take(#site, site, bytes, release)

int main(void) {
    TAKE(site_malloc, 101, 1);
    TAKE(site_calloc, 77, 1);
    TAKE(site_realloc_null, 103, 0);
    TAKE(site_realloc_grow, 10007, 0);
    TAKE(site_realloc_shrink, 13, 1);
    TAKE(site_reallocarray, 111, 1);
    TAKE(site_posix_memalign, 113, 1);
    TAKE(site_aligned_alloc, 128, 1);
    TAKE(site_memalign, 131, 1);
    TAKE(site_valloc, 137, 1);
    // pvalloc rounds the size up to whole pages, so no byte count is promised.
    TAKE(site_pvalloc, 0, 1);
    return 0;
}
