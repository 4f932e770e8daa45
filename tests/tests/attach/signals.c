// What programs begin with that wait for signals: `ready` says that a first one may come.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static sigset_t wanted;
static void ready(void) {
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    sigaddset(&wanted, SIGTERM);
    sigprocmask(SIG_BLOCK, &wanted, 0);
    printf("ready\n");
    fflush(stdout);
}
