// victim: allocates and frees a buffer for each line; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline, noipa)) static size_t shout(const char *line) {
    char *copy = malloc(256); // here: reuse-in-loop
    char *other = calloc(1, 8);
    snprintf(copy, 256, "%s!", line);
    size_t length = strlen(copy) + strlen(other);
    free(copy);
    free(other);
    return length;
}

int main(void) {
    size_t total = 0;
    for (int i = 0; i < 3000; i++) total += shout("a line");
    printf("total %zu\n", total);
    return 0;
}
