// victim: lets getline allocate a buffer for each line; flags: -D_GNU_SOURCE
// remedy: getline(&line, &size, in)
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline, noipa)) static size_t next(FILE *in) {
    char *line = NULL;
    size_t size = 0;
    ssize_t length = getline(&line, &size, in); // here: read-to-string-per-item
    free(line);
    return length > 0 ? (size_t)length : 0;
}

int main(void) {
    FILE *in = tmpfile();
    if (!in) return 1;
    for (int i = 0; i < 5000; i++) fputs("a line of some length\n", in);
    rewind(in);
    size_t total = 0;
    for (int i = 0; i < 5000; i++) total += next(in);
    printf("%zu bytes\n", total);
    return 0;
}
