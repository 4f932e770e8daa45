// victim: 2000 threads that live for a few allocations each, at most ten at a time; flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *volatile sink[10];

__attribute__((noinline, noipa)) static void brief(int slot) {
    void *p = malloc(44);
    sink[slot] = p;
    free(p);
}

static void *body(void *argument) {
    for (int i = 0; i < 5; i++) brief((int)(long)argument);
    // The result is freed by the main thread after this one is gone.
    return malloc(12);
}

int main(void) {
    for (int round = 0; round < 200; round++) {
        pthread_t t[10];
        for (long i = 0; i < 10; i++)
            if (pthread_create(&t[i], NULL, body, (void *)i)) abort();
        for (int i = 0; i < 10; i++) {
            void *result;
            pthread_join(t[i], &result);
            free(result);
        }
    }
    printf("expect site=brief blocks=10000 bytes=440000 live=0\n");
    return 0;
}
