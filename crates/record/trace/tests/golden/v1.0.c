/*
 * What was recorded in v1.0.hw and v2.0.hw: a bit of everything that a recording can hold.
 *
 *   gcc -g -O1 -fno-inline -ffile-prefix-map=$PWD=. -o victim v1.0.c -pthread
 *   env -i heapwise run -o v1.0.hw -- ./victim
 *
 * Afterwards the kernel's release in the section of run facts was cut to its first three numbers.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char *name(int i) {
    char *s = malloc(24 + i);
    memset(s, 'a', 24 + i);
    return s;
}

void *work(void *kept) {
    for (int i = 0; i < 5; i++)
        free(name(i));
    *(char **)kept = calloc(3, 7);
    return NULL;
}

int child(char *inherited) {
    free(inherited);
    char *own = name(100);
    usleep(20 * 1000);
    return own == NULL;
}

int main(void) {
    char *kept = NULL, *list = NULL;
    for (int i = 1; i <= 10; i++)
        list = realloc(list, i * 1000);
    pthread_t thread;
    pthread_create(&thread, NULL, work, &kept);
    pthread_join(thread, NULL);
    if (fork() == 0)
        _exit(child(list));
    wait(NULL);
    usleep(200 * 1000);
    free(list);
    void *aligned = NULL;
    if (posix_memalign(&aligned, 64, 640) || malloc(SIZE_MAX / 4))
        return 1;
    return kept == NULL;
}
