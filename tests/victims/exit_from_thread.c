// victim: a thread calls exit while main and another thread are allocating; flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile sink;

static void *allocate_forever(void *unused) {
    (void)unused;
    for (;;) {
        void *volatile p = malloc(100);
        free(p);
    }
    return NULL;
}
__attribute__((noinline, noipa)) static void before_exit(void) { sink = malloc(123); }
static void *leave(void *unused) {
    (void)unused;
    usleep(20000);
    for (int i = 0; i < 10; i++) before_exit();
    printf("expect site=before_exit blocks=10 bytes=1230 live=10 live_bytes=1230\n");
    exit(5);
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, allocate_forever, NULL);
    pthread_create(&t, NULL, leave, NULL);
    allocate_forever(NULL);
}
