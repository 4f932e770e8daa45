// victim: closes every descriptor above 2, then takes all low numbers itself and checks that nothing else writes to them; flags:
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void without_descriptors(void) {
    sink = malloc(35);
    free(sink);
}

int main(void) {
    for (int fd = 3; fd < 4096; fd++) close(fd);
    for (int i = 0; i < 5000; i++) without_descriptors();
    // Whoever remembers a number of a descriptor that was closed would write into these.
    int fds[2];
    if (pipe(fds) != 0) return 1;
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    for (int fd = 3; fd < 1000; fd++)
        if (fd != fds[0] && fd != fds[1]) dup2(fds[1], fd);
    for (int i = 0; i < 5000; i++) without_descriptors();
    char c;
    printf("strange bytes in the pipe: %zd\n", read(fds[0], &c, 1) > 0 ? (ssize_t)1 : 0);
    printf("expect site=without_descriptors blocks=10000 bytes=350000 live=0\n");
    return 0;
}
