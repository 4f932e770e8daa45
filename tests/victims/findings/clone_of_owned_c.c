// victim: duplicates names only to measure them; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline, noipa)) static size_t measure(const char *name) {
    char *copy = strdup(name); // here: clone-of-owned
    size_t length = strlen(copy);
    free(copy);
    return length;
}

int main(void) {
    size_t total = 0;
    for (int i = 0; i < 5000; i++) total += measure("a name of some length");
    printf("total %zu\n", total);
    return 0;
}
