// victim: starts a child and traces it, as a debugger would, and says the child's id
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    // What tracers are called decides what they cost.
    if (argc > 1) prctl(PR_SET_NAME, argv[1], 0, 0, 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        for (;;) pause();
    }
    int status;
    waitpid(child, &status, 0);
    ptrace(PTRACE_CONT, child, NULL, NULL);
    printf("child %d\nready\n", (int)child);
    fflush(stdout);
    pause();
    return 0;
}
