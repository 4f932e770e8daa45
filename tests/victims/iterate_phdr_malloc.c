// victim: allocates inside dl_iterate_phdr callbacks while another thread loads and unloads plugin_one.so; flags: -pthread -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[4096];
static atomic_int stop;
static long callbacks;
static void *volatile sink;

// The loader lock is held here; a recorder that takes its own lock and then asks the
// loader can deadlock with the other thread, whose constructor allocates.
__attribute__((noinline, noipa)) static int in_callback(struct dl_phdr_info *info, size_t size, void *data) {
    (void)info, (void)size, (void)data;
    sink = malloc(29);
    free(sink);
    // The number of modules changes from pass to pass; ending inside a pass keeps the sum exact.
    return ++callbacks == 20000;
}
static void *loader(void *failed) {
    while (!atomic_load(&stop)) {
        void *plugin = dlopen(path, RTLD_NOW);
        if (!plugin) return failed;
        ((void (*)(int))dlsym(plugin, "plugin_run"))(3);
        dlclose(plugin);
    }
    return NULL;
}

int main(void) {
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    path[n > 0 ? n : 0] = 0;
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, "plugin_one.so");
    pthread_t t;
    pthread_create(&t, NULL, loader, "failed");
    while (callbacks < 20000) dl_iterate_phdr(in_callback, NULL);
    atomic_store(&stop, 1);
    void *result;
    pthread_join(t, &result);
    printf("plugin %s\n", result ? "could not be loaded" : "loaded");
    printf("expect site=in_callback blocks=20000 bytes=580000 live=0\n");
    return result != NULL;
}
