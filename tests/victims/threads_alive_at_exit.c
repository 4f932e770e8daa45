// victim: main returns while three threads are still allocating as fast as they can; flags: -pthread
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int started;

static void *body(void *unused) {
    (void)unused;
    atomic_fetch_add(&started, 1);
    for (unsigned i = 0;; i++) {
        void *volatile p = malloc(10 + i % 1000);
        free(p);
    }
    return NULL;
}

static void *sleeper(void *unused) {
    void *volatile p = malloc(500);
    atomic_fetch_add(&started, 1);
    pause();
    free(p);
    return unused;
}

int main(void) {
    pthread_t t;
    for (int i = 0; i < 3; i++) pthread_create(&t, NULL, body, NULL);
    pthread_create(&t, NULL, sleeper, NULL);
    while (atomic_load(&started) < 4) usleep(1000);
    usleep(20000);
    printf("main returns\n");
    printf("expect site=sleeper blocks=1 bytes=500 live=1 live_bytes=500\n");
    return 3;
}
