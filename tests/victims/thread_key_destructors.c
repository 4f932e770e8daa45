// victim: pthread key destructors allocate and set the key again, so that they run for several rounds; flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_key_t first, second;
static void *volatile sink;

__attribute__((noinline, noipa)) static void in_destructor(void) {
    sink = malloc(70);
    free(sink);
}
static void again(void *value) {
    long left = (long)value;
    in_destructor();
    if (left > 1) pthread_setspecific(first, (void *)(left - 1));
}
static void free_block(void *value) {
    in_destructor();
    free(value);
}
static void *body(void *unused) {
    pthread_setspecific(first, (void *)3L);
    pthread_setspecific(second, malloc(200));
    return unused;
}

int main(void) {
    pthread_key_create(&first, again);
    pthread_key_create(&second, free_block);
    for (int i = 0; i < 100; i++) {
        pthread_t t;
        pthread_create(&t, NULL, body, NULL);
        pthread_join(t, NULL);
    }
    // Three rounds of the first key and one of the second for each thread.
    printf("expect site=in_destructor blocks=400 bytes=28000 live=0\n");
    printf("expect site=body blocks=100 bytes=20000 live=0\n");
    return 0;
}
