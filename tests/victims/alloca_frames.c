// victim: allocates below frames of varying size made by alloca and by variable length arrays; flags: -fomit-frame-pointer
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void leaf(void) {
    sink = malloc(20);
    free(sink);
}
// Such frames are addressed from rbp even when frame pointers are omitted.
__attribute__((noinline, noipa)) static int with_alloca(int n) {
    char *room = alloca(n);
    memset(room, 1, n);
    leaf();
    return room[n / 2];
}
__attribute__((noinline, noipa)) static int with_array(int n) {
    int sum = 0;
    for (int i = 1; i <= n; i++) {
        char room[i * 24];
        memset(room, i, sizeof room);
        leaf();
        sum += room[0] + with_alloca(i * 16);
    }
    return sum;
}

int main(void) {
    int sum = 0;
    for (int i = 0; i < 100; i++) sum += with_array(20);
    printf("sum %d\n", sum);
    printf("expect site=leaf blocks=4000 bytes=80000 live=0\n");
    return 0;
}
