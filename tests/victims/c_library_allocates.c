// victim: blocks that libc allocates for the program (strdup, asprintf, getline, open_memstream, getcwd, fopen) and the program frees; flags:
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noipa)) static
static char *volatile keep;

SITE void by_strdup(const char *s) { keep = strdup(s); }
SITE void by_asprintf(int n) {
    char *p = NULL;
    if (asprintf(&p, "number %d", n) < 0) abort();
    keep = p;
}
SITE void by_memstream(void) {
    char *p = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&p, &size);
    for (int i = 0; i < 1000; i++) fprintf(f, "%d ", i);
    fclose(f);
    printf("memstream of %zu bytes\n", size);
    keep = p;
}
SITE void by_getline(void) {
    FILE *f = fopen("/proc/self/stat", "r");
    char *line = NULL;
    size_t size = 0;
    if (!f || getline(&line, &size, f) < 1) abort();
    fclose(f);
    keep = line;
}
SITE void by_getcwd(void) { keep = getcwd(NULL, 0); }

int main(void) {
    for (int i = 0; i < 100; i++) {
        by_strdup("ten bytes");
        free(keep);
    }
    by_asprintf(42);
    printf("%s\n", keep);
    free(keep);
    by_memstream();
    free(keep);
    by_getline();
    free(keep);
    by_getcwd();
    free(keep);
    // The direct caller of malloc is strdup; the site is the frame above it.
    printf("expect site=by_strdup blocks=100 bytes=1000 live=0\n");
    printf("expect site=by_memstream live=0\n");
    printf("expect site=by_getline live=0\n");
    return 0;
}
