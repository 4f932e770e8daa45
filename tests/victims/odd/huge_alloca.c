// victim: allocates below frames of up to four megabytes, of which the next function touches only the far end; flags: -pthread
#include <alloca.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline, noipa)) static void leaf(void) {
    void *volatile p = malloc(77);
    free(p);
}
__attribute__((noinline, noipa)) static void with_frame(size_t bytes) {
    volatile char *frame = alloca(bytes);
    frame[bytes - 1] = 1;
    leaf();
}
static void *body(void *unused) {
    for (int round = 0; round < 100; round++)
        for (size_t bytes = 64; bytes <= 4 << 20; bytes *= 4) with_frame(bytes + round);
    return unused;
}

int main(void) {
    body(NULL);
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL)) return 1;
    pthread_join(thread, NULL);
    puts("done");
    return 0;
}
