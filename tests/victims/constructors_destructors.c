// victim: constructor functions allocate before main and destructor functions after it; flags:
#include <stdio.h>
#include <stdlib.h>

#define SITE __attribute__((noinline, noipa)) static
static void *volatile sink;
static void *early_block;

SITE void in_constructor(void) { sink = malloc(61); }
SITE void in_destructor(void) { sink = malloc(62); }

__attribute__((constructor(101))) static void very_early(void) {
    for (int i = 0; i < 50; i++) in_constructor();
    early_block = sink;
}
__attribute__((constructor)) static void early(void) { in_constructor(); }
__attribute__((destructor)) static void late(void) { in_destructor(); }
__attribute__((destructor(101))) static void very_late(void) {
    for (int i = 0; i < 50; i++) in_destructor();
    free(early_block);
    puts("very late");
}

int main(void) {
    printf("expect site=in_constructor blocks=51 bytes=3111 live=50 live_bytes=3050\n");
    printf("expect site=in_destructor blocks=51 bytes=3162 live=51 live_bytes=3162\n");
    return 0;
}
