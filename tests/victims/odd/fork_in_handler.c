// victim: forks in a signal handler, while main is between two allocations, and parent and child go on allocating; flags:
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t failed;

static void allocate(int n) {
    for (int i = 0; i < n; i++) {
        void *volatile p = malloc(i + 1);
        free(p);
    }
}
static void handler(int signal) {
    pid_t child = fork();
    if (child == 0) {
        allocate(200);
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status) failed = 1;
    allocate(signal);
}

int main(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    stack_t stack = {.ss_sp = malloc(64 << 10), .ss_size = 64 << 10};
    if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL)) return 1;
    for (int i = 0; i < 20; i++) {
        allocate(100);
        raise(SIGUSR1);
    }
    puts(failed ? "a child failed" : "all children ended");
    return failed;
}
