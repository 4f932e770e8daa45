// victim: forbids itself the processor's clock by prctl (or with the argument "syscall" by syscall(2)) and allocates on threads and in a forked child; flags: -pthread
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void without_clock(size_t n) {
    void *p = malloc(n);
    sink = p;
    free(p);
}
static void *body(void *unused) {
    for (int i = 0; i < 100000; i++) without_clock(i % 300);
    return unused;
}

int main(int argc, char **argv) {
    body(NULL);
    int by_syscall = argc > 1 && !strcmp(argv[1], "syscall");
    long error = by_syscall ? syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) : prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    if (error) return 1;
    body(NULL);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) if (pthread_create(&threads[i], NULL, body, NULL)) abort();
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    pid_t child = fork();
    if (child == 0) {
        body(NULL);
        exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    printf("the child ended with %d\n", status);
    return 0;
}
