// victim: allocates and frees a buffer for each line by its own xmalloc and xstrdup; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline, noipa)) static void *xmalloc(size_t size) {
    void *block = malloc(size);
    if (!block) abort();
    return block;
}

__attribute__((noinline, noipa)) static char *xstrdup(const char *text) {
    char *copy = xmalloc(strlen(text) + 1);
    return strcpy(copy, text);
}

__attribute__((noinline, noipa)) static size_t shout(const char *line) {
    char *copy = xmalloc(256); // here: reuse-in-loop
    snprintf(copy, 256, "%s!", line);
    size_t length = strlen(copy);
    free(copy);
    return length;
}

int main(void) {
    size_t total = 0;
    char *line = xstrdup("a line");
    for (int i = 0; i < 3000; i++) total += shout(line);
    free(line);
    printf("total %zu\n", total);
    return 0;
}
