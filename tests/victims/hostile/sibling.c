// victim: allocates a known number of blocks for about as many milliseconds as its argument says, beside a hostile program; flags: -pthread
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline, noipa)) static void in_sibling(void) {
    void *volatile p = malloc(640);
    free(p);
}

static void *body(void *rounds) {
    for (long i = 0; i < (long)rounds; i++) {
        for (int k = 0; k < 100; k++) in_sibling();
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return NULL;
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 100;
    pthread_t thread;
    pthread_create(&thread, NULL, body, (void *)rounds);
    body((void *)rounds);
    pthread_join(thread, NULL);
    printf("expect site=in_sibling blocks=%ld live=0\n", rounds * 200);
    return 0;
}
