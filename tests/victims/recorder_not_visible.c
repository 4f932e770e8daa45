// victim: reports what a recorder must not change: arguments, name, signal mask, handlers, alternate stack, errno; flags:
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void leak_here(void) { sink = malloc(21); }

int main(int argc, char **argv) {
    int first_errno = errno;
    for (int i = 0; i < 100; i++) leak_here();
    // A recorder must not be seen by the program.
    const char *name = strrchr(argv[0], '/');
    printf("arguments %d, name as called: %d\n", argc, strcmp(program_invocation_short_name, name ? name + 1 : argv[0]) == 0);
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    int blocked = 0, handled = 0;
    for (int s = 1; s < 65; s++) {
        struct sigaction action;
        blocked += sigismember(&mask, s) == 1;
        if (sigaction(s, NULL, &action) == 0) handled += action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
    }
    printf("blocked %d, handled %d\n", blocked, handled);
    stack_t stack;
    sigaltstack(NULL, &stack);
    printf("alternate stack: %s\n", stack.ss_flags & SS_DISABLE ? "none" : "set");
    printf("errno at start of main: %d\n", first_errno);
    printf("expect site=leak_here blocks=100 bytes=2100 live=100 live_bytes=2100\n");
    return 0;
}
