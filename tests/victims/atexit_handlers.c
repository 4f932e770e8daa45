// victim: atexit and on_exit handlers allocate, register further handlers and free what main left; flags:
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#define SITE __attribute__((noinline, noipa)) static
static void *volatile sink;
static void *left_by_main;

SITE void in_handler(void) { sink = malloc(91); }
static void last(void) {
    in_handler();
    puts("last handler");
}
static void first(void) {
    in_handler();
    free(left_by_main);
    atexit(last);
}
static void with_status(int status, void *argument) {
    in_handler();
    printf("status %d\n", status);
    free(argument);
}
SITE void *by_main(void) {
    sink = malloc(500);
    return sink;
}

int main(void) {
    left_by_main = by_main();
    on_exit(with_status, by_main());
    atexit(first);
    for (int i = 0; i < 40; i++) atexit(in_handler);
    printf("expect site=in_handler blocks=43 bytes=3913 live=43 live_bytes=3913\n");
    printf("expect site=by_main blocks=2 bytes=1000 live=0\n");
    return 13;
}
