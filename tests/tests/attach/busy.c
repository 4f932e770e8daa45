// Threads that never rest, until `SIGTERM`; each of them checks its blocks. Says at the end how many calls they made.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t ends;
static void end(int signal) { ends = 1; }
static void *work(void *argument) {
    long own = (long)argument, calls = 0;
    unsigned char *blocks[32] = {0};
    while (!ends) {
        int at = calls++ % 32;
        if (blocks[at] && (blocks[at][0] != own || blocks[at][15] != own)) abort();
        if (calls % 5 == 0) blocks[at] = realloc(blocks[at], 16 + calls % 300);
        else {
            free(blocks[at]);
            blocks[at] = calls % 3 ? malloc(16 + calls % 700) : aligned_alloc(64, 64 + calls % 64 * 64);
        }
        memset(blocks[at], own, 16);
        if (calls % 512 == 0) usleep(500);
    }
    for (int i = 0; i < 32; i++) free(blocks[i]);
    return (void *)calls;
}
int main(int count, char **arguments) {
    long threads = atol(arguments[1]), calls = 0;
    pthread_t all[64];
    signal(SIGTERM, end);
    for (long i = 0; i < threads; i++) pthread_create(&all[i], 0, work, (void *)(i + 1));
    printf("ready\n");
    fflush(stdout);
    for (long i = 0; i < threads; i++) {
        void *own;
        pthread_join(all[i], &own);
        calls += (long)own;
    }
    printf("calls %ld\n", calls);
    return 5;
}
