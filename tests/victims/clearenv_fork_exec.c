// victim: clears its environment, then forks and executes itself, so that nothing tells the new image about a recorder; flags:
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *volatile sink;

__attribute__((noinline, noipa)) static void in_image(void) { sink = malloc(14); }

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < 50; i++) in_image();
    if (argc > 1) {
        // A program that cleared its environment must not find it filled again by others,
        // except by what the recorder needs for itself.
        printf("HOME is %s\n", getenv("HOME") ? "set" : "not set");
        return 12;
    }
    setenv("VICTIM_VARIABLE", "a value that allocates", 1);
    clearenv();
    for (int i = 0; i < 50; i++) in_image();
    pid_t child = fork();
    if (child == 0) {
        execl(argv[0], argv[0], "child", (char *)NULL);
        _exit(127);
    }
    int status;
    waitpid(child, &status, 0);
    printf("child left with %d\n", WEXITSTATUS(status));
    printf("expect process=image site=in_image blocks=50 bytes=700 live=50\n");
    printf("expect process=parent site=in_image blocks=100 bytes=1400 live=100\n");
    return 0;
}
