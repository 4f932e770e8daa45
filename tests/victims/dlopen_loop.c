// victim: loads and unloads a plugin (plugin_one.so beside it) 200 times and lets it allocate; flags: -ldl
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
    beside("plugin_one.so");
    for (int i = 0; i < 200; i++) {
        void *plugin = dlopen(path, i % 2 ? RTLD_NOW : RTLD_LAZY);
        if (!plugin) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        void (*run)(int) = (void (*)(int))dlsym(plugin, "plugin_run");
        run(10);
        dlclose(plugin);
    }
    // Not there, so dlopen and dlerror allocate the message.
    printf("missing plugin: %s\n", dlopen("/nonexistent/plugin.so", RTLD_NOW) ? "loaded" : dlerror() ? "error" : "no error");
    printf("expect site=plugin_one_alloc blocks=2000 bytes=34000 live=0\n");
    return 0;
}
