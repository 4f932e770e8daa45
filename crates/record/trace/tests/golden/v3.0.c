/*
 * What was recorded in v3.0.hw: a program that says what it is doing.
 *
 *   gcc -g -O1 -fno-inline -ffile-prefix-map=$PWD=. -o victim v3.0.c -pthread
 *   env -i heapwise run -o v3.0.hw -- ./victim
 *
 * Afterwards the kernel's release in the section of run facts was cut to its first three numbers.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void heapwise_mark(uint32_t kind, const char *name, size_t len) __attribute__((weak));
enum { POINT, BEGIN, END };

static void say(uint32_t kind, const char *name) {
    heapwise_mark(kind, name, strlen(name));
}

void *item(int i) {
    say(BEGIN, "item");
    void *block = malloc(100 + i);
    say(END, "item");
    return block;
}

void *work(void *ignored) {
    (void)ignored;
    say(BEGIN, "work");
    for (int i = 0; i < 5; i++)
        free(item(i));
    /* Begun by the other thread. */
    say(END, "handed over");
    say(END, "work");
    return NULL;
}

int child(void) {
    say(BEGIN, "child");
    free(item(50));
    say(END, "child");
    /* Begun by the parent. */
    say(END, "main");
    return 0;
}

int main(void) {
    char name[300];
    memset(name, 'n', sizeof name);
    say(BEGIN, "main");
    heapwise_mark(POINT, name, sizeof name);
    say(BEGIN, "handed over");
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    say(POINT, "before the fork");
    if (fork() == 0)
        _exit(child());
    wait(NULL);
    void *list = realloc(malloc(10), 1000);
    say(END, "main");
    usleep(20 * 1000);
    free(list);
    return 0;
}
