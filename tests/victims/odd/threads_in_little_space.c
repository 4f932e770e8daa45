// victim: starts 200 threads that allocate, below a limit of the address space in MiB (80, or its first argument) and with stacks in KiB (256, or its second), and prints how many it could not start; flags: -pthread
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define THREADS 200

static pthread_barrier_t all;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *body(void *unused) {
    void *volatile mine[50];
    for (int i = 0; i < 50; i++) mine[i] = malloc(200);
    // Until all were started.
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < 50; i++) free(mine[i]);
    return mine[0] ? unused : &all;
}

int main(int argc, char **argv) {
    rlim_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 80) << 20;
    size_t stack = (argc > 2 ? strtoul(argv[2], NULL, 10) : 256) << 10;
    struct rlimit limit = {bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit)) return 1;
    // One arena: the others take 64 MiB each.
    mallopt(M_ARENA_MAX, 1);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, stack)) return 1;
    pthread_attr_setguardsize(&attributes, 4096);
    pthread_t threads[THREADS];
    int started = 0, refused = 0, short_of_memory = 0;
    pthread_mutex_lock(&gate);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[started], &attributes, body, NULL)) refused++;
        else started++;
    }
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < started; i++) {
        void *result;
        pthread_join(threads[i], &result);
        short_of_memory += result != NULL;
    }
    printf("%d threads were refused, %d were short of memory\n", refused, short_of_memory);
    return 0;
}
