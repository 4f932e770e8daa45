// victim: executes itself by its descriptor, first by fexecve and then by execveat with an empty path, and allocates in each image; flags:
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv) {
    for (int i = 0; i < 1000; i++) {
        void *volatile p = malloc(i);
        if (i % 10) free(p);
    }
    const char *image = argc > 1 ? argv[1] : "first";
    if (!strcmp(image, "third")) return puts("third image") < 0;
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (!strcmp(image, "first")) {
        char *next[] = {argv[0], "second", NULL};
        fexecve(self, next, environ);
    } else {
        char *next[] = {argv[0], "third", NULL};
        syscall(SYS_execveat, self, "", next, environ, AT_EMPTY_PATH);
    }
    return 1;
}
