// victim: two producers allocate and two consumers free, through a bounded queue; flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ITEMS 20000
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int *queue[64];
static int filled, produced, consumed;
static long sum;

__attribute__((noinline, noipa)) static int *produce(int i) {
    int *volatile p = malloc(sizeof(int) + i % 100);
    *p = i;
    return p;
}

static void *producer(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        int i = produced < ITEMS ? produced++ : -1;
        pthread_mutex_unlock(&lock);
        if (i < 0) return NULL;
        int *p = produce(i);
        pthread_mutex_lock(&lock);
        while (filled == 64) pthread_cond_wait(&changed, &lock);
        queue[filled++] = p;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
}

static void *consumer(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    while (consumed < ITEMS) {
        if (filled == 0) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        int *p = queue[--filled];
        sum += *p;
        consumed++;
        pthread_cond_broadcast(&changed);
        // Freed outside of the lock, so that the allocator sees both sides at once.
        pthread_mutex_unlock(&lock);
        free(p);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t t[4];
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, i % 2 ? consumer : producer, NULL);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    long bytes = 0;
    for (int i = 0; i < ITEMS; i++) bytes += 4 + i % 100;
    printf("sum %ld\n", sum);
    printf("expect site=produce blocks=%d bytes=%ld live=0\n", ITEMS, bytes);
    return 0;
}
