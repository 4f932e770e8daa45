// victim: the executable exports a malloc and a free that count and forward to the next ones by dlsym(RTLD_NEXT); flags: -rdynamic -ldl -fno-builtin
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static void *(*next_malloc)(size_t);
static void (*next_free)(void *);
static long mallocs, frees;

__attribute__((noinline, noipa)) void *malloc(size_t n) {
    if (!next_malloc) next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    mallocs++;
    void *p = next_malloc(n);
    // Used after the call, so that this stays a frame of the stack.
    if (!p) mallocs--;
    return p;
}
void free(void *p) {
    if (!next_free) next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    frees++;
    next_free(p);
}

__attribute__((noinline, noipa)) static void through_wrapper(size_t n) {
    char *volatile p = malloc(n);
    p[0] = 1;
    free(p);
}

int main(void) {
    long m = mallocs, f = frees;
    for (int i = 0; i < 1000; i++) through_wrapper(100);
    printf("mallocs %ld, frees %ld\n", mallocs - m, frees - f);
    // A preloaded malloc is the next one and sees them all.
    printf("expect site=through_wrapper blocks=1000 bytes=100000 live=0\n");
    return 0;
}
