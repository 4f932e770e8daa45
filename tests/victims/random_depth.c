// victim: wanders up and down a recursion of four functions at random (depth limit is its argument, 50) and allocates at every step; flags:
#include <stdio.h>
#include <stdlib.h>

static unsigned seed = 1;
static int limit = 50, steps = 100000, highest;
static void *table[256];
static long blocks, bytes;

static unsigned rnd(unsigned n) {
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % n;
}

__attribute__((noinline, noipa)) static void step(void) {
    unsigned slot = rnd(256);
    free(table[slot]);
    table[slot] = malloc(1 + slot);
    blocks++;
    bytes += 1 + slot;
    steps--;
}

static void wander(int depth);

// Four functions with frames of different sizes; each has two calls, so two return addresses.
#define WANDER(name, room)                                        \
    __attribute__((noinline, noipa)) static void name(int depth) { \
        volatile char local[room];                                \
        local[0] = 1;                                             \
        step();                                                   \
        if (rnd(2)) wander(depth + local[0]);                     \
        if (rnd(3)) wander(depth + 1);                            \
        local[0] = 2;                                             \
    }
WANDER(wander_a, 8)
WANDER(wander_b, 72)
WANDER(wander_c, 200)
WANDER(wander_d, 1000)

static void wander(int depth) {
    static void (*const all[4])(int) = {wander_a, wander_b, wander_c, wander_d};
    if (depth > highest) highest = depth;
    if (depth >= limit || steps <= 0) return;
    all[rnd(4)](depth);
}

int main(int argc, char **argv) {
    if (argc > 1) limit = atoi(argv[1]);
    while (steps > 0) wander(0);
    for (int i = 0; i < 256; i++) free(table[i]);
    printf("highest %d\n", highest);
    printf("expect site=step blocks=%ld bytes=%ld live=0\n", blocks, bytes);
    return 0;
}
