// victim: posix_spawn of itself with file actions, once with the environment and once with an empty one; flags:
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;
static void *volatile sink;

__attribute__((noinline, noipa)) static void in_image(void) { sink = malloc(59); }

static int spawn(char *self, char **environment) {
    char *arguments[] = {self, "child", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 9, "/dev/null", O_WRONLY, 0);
    pid_t child;
    int status = -1;
    if (posix_spawn(&child, self, &actions, NULL, arguments, environment) == 0) waitpid(child, &status, 0);
    posix_spawn_file_actions_destroy(&actions);
    return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    char *empty[] = {NULL};
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        for (int i = 0; i < 30; i++) in_image();
        return 8;
    }
    printf("with environment: %d\n", spawn(argv[0], environ));
    printf("with empty environment: %d\n", spawn(argv[0], empty));
    printf("expect process=image site=in_image blocks=30 bytes=1770 live=30\n");
    return 0;
}
