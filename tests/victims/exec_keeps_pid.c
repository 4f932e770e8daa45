// victim: executes itself three times in a row without a fork, so that one process number has four images; flags:
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void in_image(int n) {
    for (int i = 0; i < 100 * (n + 1); i++) sink = malloc(20);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    int n = argc > 1 ? atoi(argv[1]) : 0;
    int first = argc > 2 ? atoi(argv[2]) : getpid();
    in_image(n);
    printf("image %d, same process: %s\n", n, first == getpid() ? "yes" : "no");
    printf("expect image=%d site=in_image blocks=%d bytes=%d live=%d\n", n, 100 * (n + 1), 2000 * (n + 1), 100 * (n + 1));
    if (n == 3) return 2;
    char number[16], pid[16];
    snprintf(number, sizeof number, "%d", n + 1);
    snprintf(pid, sizeof pid, "%d", first);
    execl(argv[0], argv[0], number, pid, (char *)NULL);
    return 127;
}
