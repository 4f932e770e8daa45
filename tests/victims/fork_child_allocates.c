// victim: forks; the child frees a block of its parent, allocates and leaves by _exit, and the parent goes on; flags:
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noipa)) static
static void *volatile sink;

SITE void before_fork(void) { sink = malloc(1000); }
SITE void in_child(void) { sink = malloc(77); }
SITE void in_parent(void) { sink = malloc(55); }

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    before_fork();
    printf("expect process=parent site=before_fork blocks=1 bytes=1000 live=1\n");
    pid_t child = fork();
    if (child == 0) {
        free(sink);
        for (int i = 0; i < 500; i++) in_child();
        printf("expect process=child site=in_child blocks=500 bytes=38500 live=500\n");
        _exit(9);
    }
    for (int i = 0; i < 300; i++) in_parent();
    int status;
    waitpid(child, &status, 0);
    for (int i = 0; i < 300; i++) in_parent();
    printf("child left with %d\n", WEXITSTATUS(status));
    printf("expect process=parent site=in_parent blocks=600 bytes=33000 live=600\n");
    printf("expect process=parent site=in_child blocks=0\n");
    return 0;
}
