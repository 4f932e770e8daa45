// victim: limits its address space to 1 GiB, then allocates 256 MiB in all sizes, starts threads and meets the limit; flags: -pthread
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void *keep[4096];

__attribute__((noinline, noipa)) static void *under_limit(size_t n) {
    void *volatile p = malloc(n);
    return p;
}
static void *body(void *unused) {
    for (int i = 0; i < 100; i++) free(under_limit(1000));
    return unused;
}

int main(void) {
    struct rlimit limit = {1ul << 30, 1ul << 30};
    if (setrlimit(RLIMIT_AS, &limit)) return 1;
    for (int i = 0; i < 4096; i++) {
        keep[i] = under_limit(65536);
        if (!keep[i]) {
            printf("failed after %d blocks of 64 KiB\n", i);
            return 1;
        }
        memset(keep[i], i, 65536);
    }
    for (int i = 0; i < 4; i++) {
        pthread_t t;
        int error = pthread_create(&t, NULL, body, NULL);
        if (error) printf("pthread_create failed: %d\n", error);
        else pthread_join(t, NULL);
    }
    errno = 0;
    void *volatile too_much = malloc(900ul << 20);
    printf("900 MiB more: %s %s\n", too_much ? "block" : "NULL", errno == ENOMEM ? "ENOMEM" : "");
    for (int i = 0; i < 4096; i++) free(keep[i]);
    printf("expect site=under_limit blocks=4496 bytes=268835456 live=0\n");
    return 0;
}
