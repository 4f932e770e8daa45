// victim: becomes a daemon by daemon(3), which forks, and goes on allocating; the first process is gone at once; flags:
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

int main(void) {
    static void *keep[5000];
    for (int i = 0; i < 5000; i++) keep[i] = malloc(10);
    if (daemon(0, 0)) return 1;
    for (int i = 0; i < 5000; i++) keep[i] = realloc(keep[i], 100);
    for (int i = 0; i < 5000; i += 2) free(keep[i]);
    return 0;
}
