// victim: brightens a picture of 48 MiB by steps, from one of two blocks into the other; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (48 << 20)
#define STEPS 7

__attribute__((noinline, noipa)) static void brighten(const unsigned char *picture, unsigned char *result) {
    for (int i = 0; i < BYTES; i += 8) memset(result + i, picture[i] + 1, 8);
}

int main(void) {
    unsigned char *picture = calloc(1, BYTES), *result = malloc(BYTES);
    for (int i = 0; i < STEPS; i++) {
        brighten(picture, result);
        unsigned char *other = picture;
        picture = result;
        result = other;
    }
    printf("%d\n", picture[BYTES / 2]);
    free(picture);
    free(result);
    return 0;
}
