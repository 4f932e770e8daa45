// victim: forks and executes itself with an argument, and both images allocate; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noipa)) static
static void *volatile sink;

SITE void in_parent(void) { sink = malloc(41); }
SITE void between(void) { sink = malloc(42); }
SITE void in_image(void) { sink = malloc(43); }

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        for (int i = 0; i < 100; i++) in_image();
        printf("expect process=image site=in_image blocks=100 bytes=4300 live=100\n");
        return 4;
    }
    for (int i = 0; i < 100; i++) in_parent();
    pid_t child = fork();
    if (child == 0) {
        between();
        execl(argv[0], argv[0], "child", (char *)NULL);
        _exit(127);
    }
    int status;
    waitpid(child, &status, 0);
    printf("child left with %d\n", WEXITSTATUS(status));
    printf("expect process=parent site=in_parent blocks=100 bytes=4100 live=100\n");
    return 0;
}
