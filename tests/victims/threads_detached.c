// victim: detached threads allocate, and hand their last block to whoever comes next; flags: -pthread
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t done;
static void *_Atomic last;

__attribute__((noinline, noipa)) static void *pass(void) {
    void *volatile p = malloc(60);
    return p;
}

static void *body(void *unused) {
    (void)unused;
    for (int i = 0; i < 10; i++) free(__atomic_exchange_n((void **)&last, pass(), __ATOMIC_SEQ_CST));
    sem_post(&done);
    return NULL;
}

int main(void) {
    sem_init(&done, 0, 0);
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 200; i++) {
        pthread_t t;
        if (pthread_create(&t, &detached, body, NULL)) abort();
        if (i % 4 == 3)
            for (int k = 0; k < 4; k++) sem_wait(&done);
    }
    printf("expect site=pass blocks=2000 bytes=120000 live=1 live_bytes=60\n");
    return 0;
}
