// victim: a double-forked daemon closes ALL its descriptors and goes on allocating (with the argument "leave" the first process does not wait for it); flags: -pthread
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void in_daemon(void) {
    sink = malloc(256);
    free(sink);
}
static void *body(void *unused) {
    for (int i = 0; i < 1000; i++) in_daemon();
    return unused;
}

int main(int argc, char **argv) {
    int leave = argc > 1 && strcmp(argv[1], "leave") == 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    // As a subreaper the first process inherits the daemon and can tell how it ended.
    if (!leave) prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t middle = fork();
    if (middle == 0) {
        setsid();
        if (fork() != 0) _exit(0);
        if (chdir("/") != 0) _exit(1);
        umask(0);
        for (int fd = 0; fd < 4096; fd++) close(fd);
        body(NULL);
        // A new thread needs new memory of the recorder, without any descriptor.
        pthread_t t;
        if (pthread_create(&t, NULL, body, NULL)) _exit(2);
        pthread_join(t, NULL);
        _exit(7);
    }
    int status = 0;
    waitpid(middle, &status, 0);
    if (!leave) {
        wait(&status);
        printf("the daemon left with %d\n", WEXITSTATUS(status));
    }
    printf("expect process=daemon site=in_daemon blocks=2000 bytes=512000 live=0\n");
    return 0;
}
