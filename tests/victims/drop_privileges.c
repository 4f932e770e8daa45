// victim: becomes nobody if it was root, which makes it undumpable, and goes on allocating and starting threads; flags: -pthread
#define _GNU_SOURCE
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

__attribute__((noinline, noipa)) static void as_nobody(void) {
    void *volatile p = malloc(250);
    free(p);
}
static void *body(void *unused) {
    for (int i = 0; i < 5000; i++) as_nobody();
    return unused;
}

int main(void) {
    if (geteuid() == 0) {
        if (setgroups(0, NULL) || setgid(65534) || setuid(65534)) return 1;
    } else {
        // What the kernel does for the others, so that both ways are alike.
        prctl(PR_SET_DUMPABLE, 0);
    }
    body(NULL);
    pthread_t t;
    pthread_create(&t, NULL, body, NULL);
    pthread_join(t, NULL);
    printf("expect site=as_nobody blocks=10000 bytes=2500000 live=0\n");
    return 0;
}
