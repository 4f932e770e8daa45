// plugin: build with `cc -shared -fPIC plugin_two.c -o plugin_two.so` into the directory of the victims that load it
#include <stdlib.h>
#include <string.h>

static void *volatile sink;

// Frames of other sizes than those of plugin one, so that unwind rules that were remembered
// for the same addresses are wrong here.
__attribute__((noinline, noipa)) static int filler(int n) {
    volatile char room[333];
    memset((char *)room, n, sizeof room);
    return room[n & 255];
}
__attribute__((noinline, noipa)) int plugin_two_alloc(int n) {
    volatile char room[120];
    room[n % 120] = (char)filler(n);
    sink = malloc(23);
    free(sink);
    return room[n % 120];
}
void plugin_run(int times) {
    volatile long a = 1, b = 2, c = 3;
    for (int i = 0; i < times; i++) {
        b += plugin_two_alloc(i);
        a += b * c;
    }
}
__attribute__((constructor)) static void loaded(void) {
    void *volatile p = malloc(7);
    free(p);
}
