// victim: starts itself in each way that C has, with its library in reach or (lose, vfork) not any more; flags:
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *volatile sink;
static char *self;
static char *arguments[] = {NULL, "child", NULL};

__attribute__((noinline, noipa)) static void in_image(void) { sink = malloc(47); }

static void ended(const char *way, int status) {
    printf("%s: %d\n", way, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

// Each in a child, where a program takes its place.
static void execute(int way) {
    switch (way) {
    case 0: execve(self, arguments, environ); break;
    case 1: execv(self, arguments); break;
    case 2: execvp(self, arguments); break;
    case 3: execvpe(self, arguments, environ); break;
    case 4: execl(self, self, "child", "of", "many", "words", "and", "more", NULL); break;
    case 5: execlp(self, self, "child", NULL); break;
    case 6: execle(self, self, "child", NULL, environ); break;
    case 7: execle(self, self, "child", "of", "many", "words", "and", "more", NULL, environ); break;
    case 8: fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, environ); break;
    case 9: execveat(AT_FDCWD, self, arguments, environ, 0); break;
    }
}

static void execute_all(void) {
    for (int way = 0; way < 10; way++) {
        pid_t child = fork();
        if (child == 0) {
            execute(way);
            _exit(127);
        }
        int status;
        waitpid(child, &status, 0);
        char name[16];
        snprintf(name, sizeof name, "exec %d", way);
        ended(name, status);
    }
}

static void spawn_all(void) {
    pid_t child;
    int status = -1;
    if (posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0) waitpid(child, &status, 0);
    ended("posix_spawn", status);
    status = -1;
    if (posix_spawnp(&child, self, NULL, NULL, arguments, environ) == 0) waitpid(child, &status, 0);
    ended("posix_spawnp", status);
    static char line[5000];
    snprintf(line, sizeof line, "exec '%s' child", self);
    ended("system", system(line));
    FILE *pipe = popen(line, "r");
    ended("popen", pipe ? pclose(pipe) : -1);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    self = arguments[0] = argv[0];
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        for (int i = 0; i < 10; i++) in_image();
        return 8;
    }
    if (argc > 1 && strcmp(argv[1], "lose") == 0) {
        pid_t recorder = getppid();
        kill(recorder, SIGKILL);
        while (getppid() == recorder) usleep(1000);
    }
    if (argc > 1 && strcmp(argv[1], "vfork") == 0) {
        // The child shares the strings of the environment with its parent, which keeps its rights.
        pid_t child = vfork();
        if (child == 0) {
            if (setgroups(0, NULL) || setgid(65534) || setuid(65534)) _exit(126);
            execl("/bin/true", "true", NULL);
            _exit(127);
        }
        int status;
        waitpid(child, &status, 0);
        ended("vfork", status);
    }
    execute_all();
    spawn_all();
    printf("expect process=image site=in_image blocks=10 bytes=470 live=10\n");
    return 0;
}
