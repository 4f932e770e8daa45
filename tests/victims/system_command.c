// victim: runs shell commands by system and popen between its own allocations; flags:
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void between(void) {
    sink = malloc(15);
    free(sink);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    char line[64] = "";
    for (int i = 0; i < 5; i++) {
        between();
        if (system("echo said by the shell; exit 3") >> 8 != 3) return 1;
        between();
        FILE *f = popen("echo through a pipe", "r");
        if (!f || !fgets(line, sizeof line, f)) return 1;
        pclose(f);
    }
    printf("%s", line);
    printf("expect process=parent site=between blocks=10 bytes=150 live=0\n");
    return 0;
}
