// victim: keeps many blocks of a size that the allocator has; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 200000
static char *cells[N];

__attribute__((noinline, noipa)) static char *cell(int i) {
    char *bytes = malloc(40);
    return memset(bytes, i, 40);
}

int main(void) {
    for (int i = 0; i < N; i++) cells[i] = cell(i);
    printf("%d cells, the last begins with %d\n", N, cells[N - 1][0]);
    return 0;
}
