// victim: qsort and bsearch callbacks of libc allocate in every comparison; flags:
#include <stdio.h>
#include <stdlib.h>

static long calls;
static void *volatile sink;

__attribute__((noinline, noipa)) static int compare(const void *a, const void *b) {
    int *pair = malloc(2 * sizeof *pair);
    sink = pair;
    pair[0] = *(const int *)a;
    pair[1] = *(const int *)b;
    int result = (pair[0] > pair[1]) - (pair[0] < pair[1]);
    free(pair);
    calls++;
    return result;
}

int main(void) {
    static int v[2000];
    unsigned seed = 7;
    for (int i = 0; i < 2000; i++) v[i] = (int)((seed = seed * 1103515245 + 12345) >> 8);
    qsort(v, 2000, sizeof v[0], compare);
    int ordered = 1;
    for (int i = 1; i < 2000; i++) ordered &= v[i - 1] <= v[i];
    int found = bsearch(&v[77], v, 2000, sizeof v[0], compare) != NULL;
    printf("ordered %d found %d\n", ordered, found);
    printf("expect site=compare blocks=%ld bytes=%ld live=0\n", calls, calls * 8);
    return 0;
}
