// victim: allocates in a function of .preinit_array, which runs before the constructor of any library, the recorder's as well; flags: -no-pie
#include <stdio.h>
#include <stdlib.h>

static void *early[100];

static void before_all(int argc, char **argv, char **env) {
    for (int i = 0; i < 100; i++) early[i] = malloc(100 + i);
    for (int i = 0; i < 50; i++) early[i] = realloc(early[i], 500);
    for (int i = 50; i < 100; i++) free(early[i]);
}
__attribute__((section(".preinit_array"), used)) static void (*first)(int, char **, char **) = before_all;

int main(void) {
    for (int i = 0; i < 50; i++) free(early[i]);
    puts("main");
    return 0;
}
