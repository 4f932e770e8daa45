// victim: loads two different plugins (plugin_one.so and plugin_two.so beside it) in turn, which land at the same address; flags: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[4096];

static void beside(const char *name) {
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    path[n > 0 ? n : 0] = 0;
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, name);
}

int main(void) {
    void *last = NULL;
    int same = 0;
    for (int i = 0; i < 200; i++) {
        beside(i % 2 ? "plugin_two.so" : "plugin_one.so");
        void *plugin = dlopen(path, RTLD_NOW);
        if (!plugin) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        void (*run)(int) = (void (*)(int))dlsym(plugin, "plugin_run");
        Dl_info info;
        dladdr((void *)run, &info);
        same += info.dli_fbase == last;
        last = info.dli_fbase;
        run(10);
        dlclose(plugin);
    }
    // Where they land is the business of the kernel, so this is no part of the output.
    fprintf(stderr, "at the address of the one before: %d of 199\n", same);
    printf("expect site=plugin_one_alloc blocks=1000 bytes=17000 live=0\n");
    printf("expect site=plugin_two_alloc blocks=1000 bytes=23000 live=0\n");
    return 0;
}
