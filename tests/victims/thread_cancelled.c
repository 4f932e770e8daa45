// victim: threads are cancelled at a cancellation point and their cleanup handlers allocate while the stack is unwound; flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void in_cleanup(void *block) {
    sink = malloc(84);
    free(sink);
    free(block);
}
__attribute__((noinline, noipa)) static void *wait_here(void) {
    void *block = malloc(30);
    pthread_cleanup_push(in_cleanup, block);
    for (;;) sleep(100);
    pthread_cleanup_pop(1);
    return NULL;
}
static void *body(void *unused) {
    (void)unused;
    return wait_here();
}

int main(void) {
    int cancelled = 0;
    for (int i = 0; i < 100; i++) {
        pthread_t t;
        void *result;
        pthread_create(&t, NULL, body, NULL);
        pthread_cancel(t);
        pthread_join(t, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("cancelled %d\n", cancelled);
    // The request is taken only in sleep, so each thread has allocated its block. The first one
    // loads libgcc_s for the unwinding, whose blocks stay.
    printf("expect site=in_cleanup blocks=100 bytes=8400 live=0\n");
    return 0;
}
