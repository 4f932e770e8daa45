// Waits for `SIGUSR1`, does its work in threads and in a fork, says so, and waits for its end (`SIGTERM`). Each
// thread does `BLOCKS` calls of `malloc` in `work`, and looks after its blocks.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *before[1000];
__attribute__((noinline, noipa)) static void *work(void *argument) {
    char *blocks[64] = {0};
    for (long i = 0; i < (long)argument; i++) {
        free(blocks[i % 64]);
        blocks[i % 64] = malloc(16 + i % 500);
        memset(blocks[i % 64], (int)i, 16);
        for (int j = 0; j < 64; j += 7)
            if (blocks[j] && (unsigned char)blocks[j][0] != (unsigned char)blocks[j][15]) abort();
    }
    for (int i = 0; i < 64; i++) blocks[i] = realloc(blocks[i], 0);
    return 0;
}
static void threads(long blocks) {
    pthread_t all[8];
    for (int i = 0; i < 8; i++) pthread_create(&all[i], 0, work, (void *)blocks);
    for (int i = 0; i < 8; i++) pthread_join(all[i], 0);
}
int main(int count, char **arguments) {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    sigaddset(&wanted, SIGTERM);
    sigprocmask(SIG_BLOCK, &wanted, 0);
    for (int i = 0; i < 1000; i++) before[i] = memset(malloc(3000), 1, 3000);
    threads(1000);
    printf("ready\n");
    fflush(stdout);
    for (int signal, round = 0; !sigwait(&wanted, &signal) && signal == SIGUSR1; round++) {
        threads(2000);
        pid_t child = fork();
        if (child == 0) {
            work((void *)1000L);
            _exit(7);
        }
        int status;
        waitpid(child, &status, 0);
        work((void *)500L);
        for (int i = 0; i < 100; i++) free(before[i + 100 * (round % 10)]), before[i + 100 * (round % 10)] = 0;
        printf("done %d %d\n", round, WEXITSTATUS(status));
        fflush(stdout);
    }
    return 5;
}
