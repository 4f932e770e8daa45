// victim: the main thread ends by pthread_exit and another thread goes on allocating and ends the process; flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_t main_thread;
static void *volatile sink;

__attribute__((noinline, noipa)) static void after_main(void) {
    sink = malloc(90);
    free(sink);
}
static void *body(void *unused) {
    pthread_join(main_thread, NULL);
    for (int i = 0; i < 1000; i++) after_main();
    printf("expect site=after_main blocks=1000 bytes=90000 live=0\n");
    return unused;
}

int main(void) {
    pthread_t t;
    main_thread = pthread_self();
    pthread_create(&t, NULL, body, NULL);
    pthread_exit(NULL);
}
