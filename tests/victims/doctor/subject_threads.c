// victim: has four threads, and waits to be looked at; flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *work(void *nothing) {
    free(malloc(100));
    pause();
    return nothing;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, NULL);
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
