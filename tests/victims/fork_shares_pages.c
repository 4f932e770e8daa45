// victim: fills 64 MiB and forks four children, which allocate a little and read them for a third of a second; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noipa)) static
#define SIZE (64 << 20)
static volatile char *shared;

static void *volatile sink;

SITE void before_fork(void) { shared = malloc(SIZE); }
SITE void in_child(void) { sink = malloc(77); }

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    before_fork();
    memset((char *)shared, 1, SIZE);
    printf("expect process=parent site=before_fork blocks=1 bytes=%d live=1\n", SIZE);
    for (int i = 0; i < 4; i++) {
        if (fork() == 0) {
            in_child();
            long sum = 0;
            for (int round = 0; round < 33; round++) {
                for (long at = 0; at < SIZE; at += 4096) sum += shared[at];
                usleep(10 * 1000);
            }
            _exit(sum != 33L * (SIZE / 4096));
        }
    }
    int failed = 0;
    for (int i = 0, status; i < 4; i++) {
        wait(&status);
        failed |= status;
    }
    printf("expect process=child site=in_child blocks=1 bytes=77 live=1\n");
    printf("children left with %d\n", failed);
    return failed;
}
