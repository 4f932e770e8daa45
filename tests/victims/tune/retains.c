// victim: threads allocate much, free nearly all and stay, and the program is idle for a while; flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_barrier_t barrier;
static int count;

static void *thread(void *at) {
    unsigned random = 1 + *(int *)at;
    char **blocks = malloc(count * sizeof *blocks);
    for (int i = 0; i < count; i++) {
        random = random * 1103515245 + 12345;
        size_t size = 24 + (random >> 16) % 1500;
        blocks[i] = malloc(size);
        memset(blocks[i], i, size);
    }
    pthread_barrier_wait(&barrier);
    // One in a hundred is in the way of the pages between.
    for (int i = 0; i < count; i++)
        if (i % 100 != 0) free(blocks[i]);
    pthread_barrier_wait(&barrier);
    for (;;) pause();
}

// retains THREADS BLOCKS MILLISECONDS
int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int threads = atoi(argv[1]);
    count = atoi(argv[2]);
    int numbers[64];
    pthread_barrier_init(&barrier, NULL, threads + 1);
    for (int i = 0; i < threads && i < 64; i++) {
        pthread_t id;
        numbers[i] = i;
        if (pthread_create(&id, NULL, thread, &numbers[i]) != 0) return 1;
    }
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    puts("retained");
    fflush(stdout);
    usleep(atoi(argv[3]) * 1000);
    puts("idle");
    return 0;
}
