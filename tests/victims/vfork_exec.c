// victim: vfork and exec of itself ten times, so that the child shares the memory of the parent until the exec; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noipa)) static
static void *volatile sink;

SITE void in_parent(void) { sink = malloc(46); }
SITE void in_image(void) { sink = malloc(47); }

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        for (int i = 0; i < 20; i++) in_image();
        return 6;
    }
    int good = 0;
    for (int i = 0; i < 10; i++) {
        in_parent();
        pid_t child = vfork();
        if (child == 0) {
            // Every fifth exec fails, and the child leaves in the memory of its parent.
            execl(i % 5 == 4 ? "/nonexistent" : argv[0], argv[0], "child", (char *)NULL);
            _exit(6);
        }
        in_parent();
        int status;
        waitpid(child, &status, 0);
        good += WEXITSTATUS(status) == 6;
    }
    printf("good children %d\n", good);
    printf("expect process=parent site=in_parent blocks=20 bytes=920 live=20\n");
    printf("expect process=image site=in_image blocks=20 bytes=940 live=20\n");
    return 0;
}
