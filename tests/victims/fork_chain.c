// victim: each process forks the next one, ten generations deep, and all allocate before and after; flags:
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void generation(int n) {
    for (int i = 0; i < 100; i++) sink = malloc(10 + n);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    int n = 0;
    pid_t child;
    do {
        generation(n);
        child = n < 10 ? fork() : -1;
        if (child == 0) n++;
    } while (child == 0);
    int status = 0;
    if (child > 0) waitpid(child, &status, 0);
    generation(n);
    printf("generation %d of %d is done\n", n, WEXITSTATUS(status));
    printf("expect process=generation_%d site=generation blocks=200 bytes=%d live=200\n", n, 200 * (10 + n));
    // The count goes up from the innermost child to the first process.
    return WEXITSTATUS(status) + 1;
}
