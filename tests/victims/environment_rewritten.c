// victim: overwrites the strings of its environment and of its arguments in place, as programs do that set their process title; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;
static void *volatile sink;

__attribute__((noinline, noipa)) static void afterwards(void) { sink = malloc(18); }

int main(int argc, char **argv) {
    // A recorder that kept pointers into the environment reads a title now.
    for (char **e = environ; *e; e++) memset(*e, 'x', strlen(*e));
    for (int i = 0; i < argc; i++) memset(argv[i], 't', strlen(argv[i]));
    static char *empty[] = {NULL};
    environ = empty;
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "VARIABLE_%d", i);
        setenv(name, "value", 1);
        afterwards();
    }
    printf("%s\n", getenv("VARIABLE_57"));
    printf("expect site=afterwards blocks=100 bytes=1800 live=100 live_bytes=1800\n");
    return 0;
}
