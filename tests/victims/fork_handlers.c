// victim: pthread_atfork handlers allocate before the fork and in both processes after it; flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noipa)) static
static void *volatile sink;

SITE void on_prepare(void) { sink = malloc(31); }
SITE void on_parent(void) { sink = malloc(32); }
SITE void on_child(void) { sink = malloc(33); }

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    pthread_atfork(on_prepare, on_parent, on_child);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, NULL, 0);
    }
    printf("expect process=parent site=on_prepare blocks=20 bytes=620 live=20\n");
    printf("expect process=parent site=on_parent blocks=20 bytes=640 live=20\n");
    printf("expect process=child site=on_child blocks=1 bytes=33 live=1\n");
    return 0;
}
