// victim: allocations that cannot succeed return NULL with ENOMEM, and errno survives those that do; flags:
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SITE __attribute__((noinline, noipa)) static
static void *volatile sink;
static volatile size_t huge = SIZE_MAX - 4096, large = (size_t)1 << 46;

SITE void too_huge(void) { sink = malloc(huge); }
// Less than PTRDIFF_MAX, so it fails in the kernel and not in the size check.
SITE void too_large(void) { sink = malloc(large); }
SITE void too_huge_realloc(void *p) { sink = realloc(p, huge); }
SITE void small(void) { sink = malloc(24); }

static void say(const char *what) {
    printf("%s: %s %s\n", what, sink ? "block" : "NULL", errno == ENOMEM ? "ENOMEM" : "other errno");
    errno = 0;
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    errno = 0;
    too_huge();
    say("malloc of nearly 2^64");
    too_large();
    say("malloc of 2^46");
    small();
    char *old = sink;
    old[0] = 'k';
    too_huge_realloc(old);
    say("realloc");
    printf("old block still has '%c'\n", old[0]);
    errno = EDOM;
    small();
    free(sink);
    free(old);
    printf("errno after good calls: %s\n", errno == EDOM ? "unchanged" : "changed");
    printf("expect site=too_huge blocks=0 bytes=0 live=0\n");
    printf("expect site=too_large blocks=0 bytes=0 live=0\n");
    printf("expect site=too_huge_realloc blocks=0 bytes=0 live=0\n");
    printf("expect site=small blocks=2 bytes=48 live=0\n");
    return 0;
}
