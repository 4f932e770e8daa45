// victim: threads that name themselves, are named by others and change their name, each with a known number of blocks; flags: -pthread
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void named_alloc(int n) {
    for (int i = 0; i < n; i++) {
        sink = malloc(16);
        free(sink);
    }
}
static void *names_itself(void *unused) {
    pthread_setname_np(pthread_self(), "reader");
    named_alloc(100);
    return unused;
}
static void *uses_prctl(void *unused) {
    named_alloc(50);
    prctl(PR_SET_NAME, "writer");
    named_alloc(150);
    return unused;
}
static void *keeps_name(void *unused) {
    named_alloc(300);
    return unused;
}

static void run(void *(*body)(void *)) {
    pthread_t t;
    pthread_create(&t, NULL, body, NULL);
    pthread_join(t, NULL);
}

int main(void) {
    run(names_itself);
    run(uses_prctl);
    run(keeps_name);
    // Fifteen bytes is the limit of the kernel, and a name need not be plain ASCII.
    pthread_setname_np(pthread_self(), "main \xc3\xa4 <&> 0123");
    named_alloc(400);
    printf("expect site=named_alloc blocks=1000 bytes=16000 live=0\n");
    printf("expect thread=reader blocks=100\nexpect thread=writer blocks=200\n");
    return 0;
}
