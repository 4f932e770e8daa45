// victim: one thread forks 50 children while three others allocate, and each child allocates in the copy; flags: -pthread
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int stop;

static void *noise(void *argument) {
    unsigned i = (unsigned)(long)argument;
    while (!atomic_load(&stop)) {
        void *volatile p = malloc(1 + i % 3000);
        free(p);
        i += 17;
    }
    return NULL;
}
__attribute__((noinline, noipa)) static void in_child(void) {
    void *volatile p = malloc(66);
    free(p);
}
static void *forker(void *unused) {
    int good = 0;
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (int k = 0; k < 100; k++) in_child();
            _exit(i);
        }
        int status;
        waitpid(child, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == i;
    }
    printf("good children %d\n", good);
    return unused;
}

int main(void) {
    pthread_t t[3], f;
    for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, noise, (void *)i);
    pthread_create(&f, NULL, forker, NULL);
    pthread_join(f, NULL);
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    printf("expect process=child site=in_child blocks=100 bytes=6600 live=0\n");
    return 0;
}
