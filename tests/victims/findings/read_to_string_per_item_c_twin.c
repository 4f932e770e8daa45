// victim: lets getline use one buffer for all lines; flags: -D_GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

static char *line;
static size_t size;

__attribute__((noinline, noipa)) static size_t next(FILE *in) {
    ssize_t length = getline(&line, &size, in);
    return length > 0 ? (size_t)length : 0;
}

int main(void) {
    FILE *in = tmpfile();
    if (!in) return 1;
    for (int i = 0; i < 5000; i++) fputs("a line of some length\n", in);
    rewind(in);
    size_t total = 0;
    for (int i = 0; i < 5000; i++) total += next(in);
    free(line);
    printf("%zu bytes\n", total);
    return 0;
}
