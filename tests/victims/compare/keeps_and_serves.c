// victim: a server that, on SIGUSR1, allocates 64 MB in small blocks and frees nearly all of them; it ends on SIGTERM
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t asked, told_to_end;
static void on_work(int signal) { (void)signal; asked = 1; }
static void on_end(int signal) { (void)signal; told_to_end = 1; }

enum { BLOCKS = 32768, SIZE = 2000 };
static char *blocks[BLOCKS];

int main(int count, char **words) {
    signal(SIGUSR1, on_work);
    signal(SIGTERM, on_end);
    if (count > 1) {
        FILE *file = fopen(words[1], "w");
        if (!file) return 2;
        fprintf(file, "%d\n", getpid());
        fclose(file);
    }
    puts("ready to serve");
    fflush(stdout);
    while (!told_to_end) {
        usleep(1000);
        if (!asked) continue;
        asked = 0;
        for (int i = 0; i < BLOCKS; i++) blocks[i] = memset(malloc(SIZE), i, SIZE);
        // What is left keeps the end of glibc's heap, so that nothing is returned to the system by itself.
        for (int i = 0; i < BLOCKS - 1; i++) free(blocks[i]);
        puts("worked");
        fflush(stdout);
        if (count > 2) {
            FILE *file = fopen(words[2], "w");
            if (!file) return 2;
            fclose(file);
        }
    }
    puts("bye");
    return 0;
}
