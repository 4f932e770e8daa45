// victim: makes its small blocks before the large ones that it frees, so that they lie together; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 4000
static char *names[N], *bodies[N];

__attribute__((noinline, noipa)) static char *name(int i) {
    char *text = malloc(48);
    sprintf(text, "page %d", i);
    return text;
}

__attribute__((noinline, noipa)) static char *body(void) { return memset(malloc(6000), 1, 6000); }

int main(void) {
    for (int i = 0; i < N; i++) names[i] = name(i);
    for (int i = 0; i < N; i++) bodies[i] = body();
    for (int i = 0; i < N; i++) free(bodies[i]);
    printf("last %s\n", names[N - 1]);
    return 0;
}
