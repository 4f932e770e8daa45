// victim: writes random words to the recorder's memory (seed, milliseconds, and "all", "spare" the clock, or "not") while it allocates; flags: -pthread
#define _GNU_SOURCE
#include "session.h"
#include <pthread.h>
#include <time.h>

static uint64_t state;
static volatile int over;

static uint64_t next(void) {
    // SplitMix64: the same words for the same seed.
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

__attribute__((noinline, noipa)) static void in_scribbler(void) {
    void *volatile p = malloc(next() % 500);
    free(p);
}

static void *allocates(void *unused) {
    while (!over) {
        for (int i = 0; i < 300; i++) {
            void *volatile p = malloc(88);
            free(p);
        }
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return unused;
}

// Where a word may do harm: a random place, or one of the fields that lie at the start of things.
static uint64_t place(uint64_t own) {
    switch (next() % 6) {
        case 0: return next() % 512;
        case 1: return own + next() % 4096;
        case 2: return own + next() % 90000;
        case 3: return *long_at(own + PROCESS_RINGS) + next() % 256;
        case 4: return own + next() % (4 << 20);
        default: return next() % HEADER_BYTES;
    }
}

// Small numbers, offsets that nearly fit, and anything.
static uint64_t value(uint64_t own) {
    switch (next() % 5) {
        case 0: return next() % 16;
        case 1: return own + next() % (1 << 20) * 8;
        case 2: return HEADER_BYTES + next() % 64 * ARENA_BYTES;
        case 3: return 1ull << next() % 64;
        default: return next();
    }
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    state = strtoull(argv[1], NULL, 10);
    int ms = atoi(argv[2]), spares = !strcmp(argv[3], "spare"), not = !strcmp(argv[3], "not");
    find_session();
    uint64_t own = own_header();
    if (!own) return 2;
    pthread_t thread;
    pthread_create(&thread, NULL, allocates, NULL);
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (int i = 0; i < 20; i++) {
            uint64_t offset = place(own) & ~7ull;
            // The clock, and what others still have to take: who harms these harms all.
            if (spares && offset < 512 && offset != SESSION_NEWEST && offset != SESSION_WAKE) continue;
            volatile uint64_t *to = long_at(offset);
            if (to && !not) *to = value(own);
            in_scribbler();
        }
        nanosleep(&(struct timespec){0, 300000}, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
    over = 1;
    _exit(0);
}
