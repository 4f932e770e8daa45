// victim: prints something else each time
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%d at %ld.%09ld\n", getpid(), (long)now.tv_sec, now.tv_nsec);
    return 0;
}
