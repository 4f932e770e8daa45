// victim: has one buffer for all lines; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline, noipa)) static size_t shout(const char *line, char *copy) {
    snprintf(copy, 256, "%s!", line);
    return strlen(copy);
}

int main(void) {
    size_t total = 0;
    char *copy = malloc(256);
    for (int i = 0; i < 3000; i++) total += shout("a line", copy);
    free(copy);
    printf("total %zu\n", total);
    return 0;
}
