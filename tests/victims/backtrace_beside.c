// victim: allocates and has glibc's own backtrace() find the stack beside the allocation, so that both can be compared; flags: -rdynamic -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Not static, so that dladdr knows their names.
#define FRAME __attribute__((noinline, noipa)) void
static void *volatile sink;
static volatile int depth;

FRAME beside(void) {
    void *frames[64];
    int n = backtrace(frames, 64);
    sink = malloc(73);
    free(sink);
    printf("stack");
    for (int i = 0; i < n; i++) {
        Dl_info info;
        // The return address may already belong to the next function.
        if (!dladdr((char *)frames[i] - 1, &info) || !info.dli_sname) break;
        printf(" %s", info.dli_sname);
        if (strcmp(info.dli_sname, "main") == 0) break;
    }
    printf("\n");
}
FRAME one(void) {
    beside();
    depth++;
}
FRAME two(void) {
    one();
    depth++;
}
FRAME with_room(int n) {
    char room[n];
    memset(room, n, n);
    depth += room[n / 2];
    two();
    depth += room[n - 1];
}
FRAME again(int n) {
    if (n) again(n - 1);
    else one();
    depth++;
}
static int compare(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}
FRAME sorted(void) {
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof(int), compare);
    beside();
    depth += numbers[0];
}

int main(void) {
    // So that printf does not allocate in `beside`.
    static char buffer[4096];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    // glibc loads the unwinder at the first call, which allocates.
    void *first[1];
    backtrace(first, 1);
    one();
    two();
    with_room(500);
    again(7);
    sorted();
    printf("expect under=beside blocks=5 bytes=365 live=0\n");
    return 0;
}
