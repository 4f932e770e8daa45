// victim: grows arrays one element at a time by realloc, once by a constant and once by doubling; flags:
#include <stdio.h>
#include <stdlib.h>

#define SITE __attribute__((noinline, noipa)) static
static int *volatile array;

SITE void grow_by_constant(size_t n) { array = realloc(array, n * sizeof(int)); }
SITE void grow_by_doubling(size_t n) { array = realloc(array, n * sizeof(int)); }

int main(void) {
    size_t bytes = 0, blocks = 0;
    array = NULL;
    for (size_t n = 1; n <= 5000; n++) {
        grow_by_constant(n);
        array[n - 1] = (int)n;
        bytes += n * sizeof(int);
    }
    free(array);
    printf("expect site=grow_by_constant blocks=5000 bytes=%zu live=0\n", bytes);
    array = NULL;
    bytes = 0;
    size_t room = 0;
    for (size_t n = 1; n <= 1000000; n++) {
        if (n > room) {
            room = room ? room * 2 : 1;
            grow_by_doubling(room);
            bytes += room * sizeof(int);
            blocks++;
        }
        array[n - 1] = (int)n;
    }
    long long sum = 0;
    for (size_t n = 0; n < 1000000; n++) sum += array[n];
    printf("sum %lld\n", sum);
    // The last array stays.
    printf("expect site=grow_by_doubling blocks=%zu bytes=%zu live=1 live_bytes=%zu\n", blocks, bytes, room * sizeof(int));
    return 0;
}
