// victim: closes all descriptors but the first three by close_range before it allocates for the first time, and then those as well; flags: -pthread
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *body(void *unused) {
    for (int i = 0; i < 20000; i++) {
        void *volatile p = malloc(i % 700);
        free(p);
    }
    return unused;
}

int main(void) {
    syscall(SYS_close_range, 3u, ~0u, 0u);
    body(NULL);
    syscall(SYS_close_range, 0u, ~0u, 0u);
    body(NULL);
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL)) return 1;
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0) {
        body(NULL);
        _exit(0);
    }
    int status;
    return waitpid(child, &status, 0) == child && status == 0 ? 7 : 1;
}
