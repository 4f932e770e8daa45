// victim: threads with stacks of PTHREAD_STACK_MIN bytes allocate, as deep as the little stack allows; flags: -pthread
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void on_little_stack(int depth) {
    void *p = malloc(52);
    sink = p;
    if (depth) on_little_stack(depth - 1);
    free(p);
}
static void *body(void *unused) {
    for (int i = 0; i < 10; i++) on_little_stack(10);
    return unused;
}

int main(void) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    // In newer libraries the constant is a call; the static one is 16384.
    if (pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN)) abort();
    for (int i = 0; i < 100; i++) {
        pthread_t t;
        // The thread-local memory of all libraries is taken from this stack too.
        int error = pthread_create(&t, &attr, body, NULL);
        if (error) {
            printf("pthread_create failed: %d\n", error);
            return 1;
        }
        pthread_join(t, NULL);
    }
    printf("expect site=on_little_stack blocks=11000 bytes=572000 live=0\n");
    return 0;
}
