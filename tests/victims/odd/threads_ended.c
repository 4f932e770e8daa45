// victim: starts and ends threads (how many is its argument), each of which allocates, frees a block of the one before and leaves one; flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *body(void *before) {
    void *volatile p = malloc(64);
    free(p);
    free(before);
    return malloc(32);
}

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 1000;
    void *left = NULL;
    for (long i = 0; i < n; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, body, left)) return 1;
        pthread_join(thread, &left);
    }
    free(left);
    puts("all ended");
    return 0;
}
