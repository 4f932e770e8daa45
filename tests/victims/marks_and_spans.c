// victim: says what it is doing by heapwise_mark, found by dlsym and as a weak symbol, on threads, across a fork and in ways that do not fit; flags: -pthread -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noipa)) static
#define THREADS 4
#define ROUNDS 200
#define NAMES 5000

extern void heapwise_mark(uint32_t kind, const char *name, size_t len) __attribute__((weak));

static void (*found)(uint32_t kind, const char *name, size_t len);
static void *volatile sink;

static void mark(uint32_t kind, const char *name) {
    if (found) found(kind, name, strlen(name));
}
#define POINT(name) mark(0, name)
#define BEGIN(name) mark(1, name)
#define END(name) mark(2, name)

SITE void load(void) { sink = malloc(1000); }
SITE void item(void) { sink = malloc(100); }
SITE void work(void) { free(sink = malloc(50)); }
SITE void in_child(void) { sink = malloc(77); }

static void *worker(void *argument) {
    int number = *(int *)argument;
    char name[32];
    for (int round = 0; round < ROUNDS; round++) {
        BEGIN("work");
        // All threads come up with the same names at the same time, always in the same memory of theirs.
        snprintf(name, sizeof name, "round %d", round);
        BEGIN(name);
        void *block = malloc(50);
        sink = block;
        END(name);
        free(block);
        END("work");
    }
    snprintf(name, sizeof name, "thread %d is done", number);
    POINT(name);
    // Begun by the main thread.
    if (number == 0) END("crossing");
    return NULL;
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    *(void **)&found = dlsym(RTLD_DEFAULT, "heapwise_mark");
    uint32_t (*recording)(void);
    *(void **)&recording = dlsym(RTLD_DEFAULT, "heapwise_is_recording");
    fprintf(stderr, "recording: %u\n", recording ? recording() : 0);
    if (heapwise_mark) heapwise_mark(0, "by the weak symbol", 18);

    static void *kept[100];
    BEGIN("load");
    load();
    void *list = sink;
    for (int i = 0; i < 100; i++) {
        BEGIN("item");
        item();
        kept[i] = sink;
        END("item");
    }
    list = realloc(list, 5000);
    END("load");
    POINT("loaded");

    BEGIN("crossing");
    pthread_t threads[THREADS];
    static int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, worker, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);

    BEGIN("forking");
    pid_t child = fork();
    if (child == 0) {
        fprintf(stderr, "recording in the child: %u\n", recording ? recording() : 0);
        END("forking");
        // The first name of the child, which was not that of its parent.
        BEGIN("child");
        for (int i = 0; i < 10; i++) in_child();
        END("child");
        BEGIN("load");
        in_child();
        END("load");
        printf("expect process=child site=in_child blocks=11 bytes=847 live=11\n");
        _exit(0);
    }
    waitpid(child, NULL, 0);
    END("forking");

    BEGIN("freeing");
    for (int i = 0; i < 100; i++) free(kept[i]);
    free(list);
    END("freeing");

    // A name that is too long, none, what makes no sense, and more names than there is room for.
    char name[1000];
    memset(name, 'x', sizeof name);
    if (found) {
        found(0, name, sizeof name);
        found(0, NULL, 0);
        found(3, "no such kind", 12);
        found(UINT32_MAX, "no such kind", 12);
    }
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "name %d", i);
        POINT(name);
    }
    BEGIN("too late for a name");
    work();
    END("too late for a name");
    // An end too many, and a begin.
    END("load");
    BEGIN("item");
    printf("expect process=parent site=load blocks=1 bytes=1000\n");
    printf("expect process=parent site=item blocks=100 bytes=10000 live=0\n");
    printf("expect process=parent site=work blocks=1 bytes=50 live=0 temporary=1\n");
    return 0;
}
