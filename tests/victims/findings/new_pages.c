// victim: brightens a picture of 48 MiB by steps, each into a new block of which glibc returned the pages; flags:
// remedy: mmap_max=0
// evidence: beyond the
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (48 << 20)
#define STEPS 7

__attribute__((noinline, noipa)) static unsigned char *brighter(const unsigned char *picture) {
    unsigned char *result = malloc(BYTES); // here: new-pages
    for (int i = 0; i < BYTES; i += 8) memset(result + i, picture[i] + 1, 8);
    return result;
}

int main(void) {
    unsigned char *picture = calloc(1, BYTES);
    for (int i = 0; i < STEPS; i++) {
        unsigned char *result = brighter(picture);
        free(picture);
        picture = result;
    }
    printf("%d\n", picture[BYTES / 2]);
    free(picture);
    return 0;
}
