// victim: recurses 50 and then 5000 levels deep (or as deep as its argument says) and allocates at each level on the way down; flags:
#include <stdio.h>
#include <stdlib.h>

static long levels, bytes;
// Without it the compiler sees through the block and leaves the allocation out.
static void *volatile sink;

__attribute__((noinline, noipa)) static int level(int depth) {
    if (depth == 0) return 0;
    int *p = malloc(sizeof *p * (depth % 10 + 1));
    sink = p;
    p[0] = depth;
    levels++;
    bytes += sizeof *p * (depth % 10 + 1);
    int below = level(depth - 1);
    // Used after the call, so that the recursion stays one.
    below += p[0] & 1;
    free(p);
    return below;
}

int main(int argc, char **argv) {
    if (argc > 1) {
        printf("odd levels %d\n", level(atoi(argv[1])));
    } else {
        for (int i = 0; i < 20; i++) level(50);
        printf("odd levels %d\n", level(5000));
    }
    printf("expect site=level blocks=%ld bytes=%ld live=0\n", levels, bytes);
    return 0;
}
