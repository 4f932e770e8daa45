// victim: changes its root to an empty folder (its argument; root alone may), gives up its rights and goes on allocating, with threads; flags: -pthread
#define _GNU_SOURCE
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *keep[40][500];

static void *body(void *argument) {
    void **mine = argument;
    for (int i = 0; i < 500; i++) mine[i] = malloc(1000 + i);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 2 || chroot(argv[1]) || chdir("/")) return 1;
    if (setgroups(0, NULL) || setgid(65534) || setuid(65534)) return 2;
    pthread_t threads[40];
    for (int i = 0; i < 40; i++)
        if (pthread_create(&threads[i], NULL, body, keep[i])) return 3;
    for (int i = 0; i < 40; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 500; j++) free(keep[i][j]);
    puts("the child did not go on");
    return 0;
}
