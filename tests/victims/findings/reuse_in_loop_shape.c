// victim: a function without a telling name gets each caller a block of its size, one of which is made in a loop; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline, noipa)) static void *obtain(size_t size) {
    void *block = malloc(size);
    if (!block) abort();
    return block;
}

__attribute__((noinline, noipa)) static char *name(void) { return memset(obtain(40), 0, 40); }

__attribute__((noinline, noipa)) static char *record(void) { return memset(obtain(120), 0, 120); }

__attribute__((noinline, noipa)) static size_t shout(const char *line) {
    char *copy = obtain(256); // here: reuse-in-loop
    snprintf(copy, 256, "%s!", line);
    size_t length = strlen(copy);
    free(copy);
    return length;
}

int main(void) {
    size_t total = 0;
    char *kept[20];
    for (int i = 0; i < 20; i += 2) kept[i] = name(), kept[i + 1] = record();
    for (int i = 0; i < 3000; i++) total += shout("a line");
    for (int i = 0; i < 20; i++) free(kept[i]);
    printf("total %zu\n", total);
    return 0;
}
