// victim: measures names where they are, and keeps the copies that it makes; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *kept[5000];

__attribute__((noinline, noipa)) static size_t measure(const char *name, int i) {
    kept[i] = strdup(name);
    return strlen(name);
}

int main(void) {
    size_t total = 0;
    for (int i = 0; i < 5000; i++) total += measure("a name of some length", i);
    for (int i = 0; i < 5000; i++) free(kept[i]);
    printf("total %zu\n", total);
    return 0;
}
