// victim: sets RLIMIT_NOFILE to 4 and RLIMIT_FSIZE to 0, so that nothing in the process can open or extend a file, and goes on with threads; flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

__attribute__((noinline, noipa)) static void *under_limit(size_t n) {
    void *volatile p = malloc(n);
    return p;
}
static void *body(void *unused) {
    for (int i = 0; i < 20000; i++) free(under_limit(i % 1000));
    return unused;
}

int main(void) {
    // Said before, since with the limit standard output may not be a growing file any more.
    printf("expect site=under_limit blocks=100000 bytes=49950000 live=0\n");
    fflush(stdout);
    struct rlimit files = {4, 4}, size = {0, 0};
    // Extending a file would now raise SIGXFSZ, which kills.
    if (setrlimit(RLIMIT_NOFILE, &files) || setrlimit(RLIMIT_FSIZE, &size)) return 1;
    body(NULL);
    for (int i = 0; i < 4; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, body, NULL)) return 2;
        pthread_join(t, NULL);
    }
    return 21;
}
