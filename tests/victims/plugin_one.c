// plugin: build with `cc -shared -fPIC plugin_one.c -o plugin_one.so` into the directory of the victims that load it
#include <stdlib.h>

static void *volatile sink;

// Exported, so that its name survives stripping. The same symbol exists in the other plugin,
// at another place.
__attribute__((noinline, noipa)) void plugin_one_alloc(void) {
    sink = malloc(17);
    free(sink);
}
__attribute__((constructor)) static void loaded(void) {
    void *volatile p = malloc(5);
    free(p);
}
__attribute__((destructor)) static void unloaded(void) {
    void *volatile p = malloc(6);
    free(p);
}
void plugin_run(int times) {
    for (int i = 0; i < times; i++) plugin_one_alloc();
}
