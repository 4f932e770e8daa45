// victim: reallocarray and calloc whose product overflows fail and leave the old block alone; flags:
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SITE __attribute__((noinline, noipa)) static
static void *volatile sink;
// Volatile, so that the compiler does not warn about (or fold) the overflow.
static volatile size_t half = SIZE_MAX / 2 + 1;

SITE void overflow_reallocarray(void *old) { sink = reallocarray(old, half, 2); }
SITE void overflow_calloc(void) { sink = calloc(half, 2); }
SITE void good_reallocarray(void *old) { sink = reallocarray(old, 10, 20); }

int main(void) {
    int *old = malloc(sizeof *old);
    *old = 4711;
    errno = 0;
    overflow_reallocarray(old);
    printf("reallocarray: %s, %s, old block %d\n", sink ? "block" : "NULL",
           errno == ENOMEM ? "ENOMEM" : "other errno", *old);
    errno = 0;
    overflow_calloc();
    printf("calloc: %s, %s\n", sink ? "block" : "NULL", errno == ENOMEM ? "ENOMEM" : "other errno");
    good_reallocarray(old);
    printf("content %d\n", *(int *)sink);
    free(sink);
    printf("expect site=overflow_reallocarray blocks=0 bytes=0 live=0\n");
    printf("expect site=overflow_calloc blocks=0 bytes=0 live=0\n");
    printf("expect site=good_reallocarray blocks=1 bytes=200 live=0\n");
    return 0;
}
