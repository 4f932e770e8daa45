// victim: 300 threads are alive at the same time and each holds blocks while the others run; flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 300
static pthread_barrier_t all;

__attribute__((noinline, noipa)) static void *hold(void) {
    void *volatile p = malloc(1000);
    return p;
}

static void *body(void *unused) {
    (void)unused;
    void *mine[20];
    for (int i = 0; i < 20; i++) mine[i] = hold();
    pthread_barrier_wait(&all);
    for (int i = 0; i < 20; i++) free(mine[i]);
    return NULL;
}

int main(void) {
    pthread_t t[THREADS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], &small, body, NULL)) abort();
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    // At the barrier every block is live at once.
    printf("expect site=hold blocks=6000 bytes=6000000 live=0 peak_blocks=6000 peak_bytes=6000000\n");
    return 0;
}
