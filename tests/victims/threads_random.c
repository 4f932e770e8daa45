// victim: four threads allocate and free random sizes from their own tables; flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define STEPS 50000
static size_t bytes[THREADS];

__attribute__((noinline, noipa)) static void *take(size_t n) {
    void *volatile p = malloc(n);
    return p;
}

static void *body(void *argument) {
    long me = (long)argument;
    unsigned seed = (unsigned)me + 1;
    void *table[500] = {0};
    size_t sum = 0;
    for (int i = 0; i < STEPS; i++) {
        seed = seed * 1103515245 + 12345;
        unsigned slot = (seed >> 16) % 500, size = 1 + (seed >> 8) % 700;
        free(table[slot]);
        table[slot] = take(size);
        sum += size;
    }
    for (int i = 0; i < 500; i++) free(table[i]);
    bytes[me] = sum;
    return NULL;
}

int main(void) {
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, body, (void *)i);
    size_t sum = 0;
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL), sum += bytes[i];
    printf("expect site=take blocks=%d bytes=%zu live=0\n", THREADS * STEPS, sum);
    return 0;
}
