// Brightens a picture of 48 MiB by steps when `SIGUSR1` has come, each into a new block of which glibc returned the pages.
#define BYTES (48 << 20)
__attribute__((noinline, noipa)) static char *brighter(const char *picture) {
    char *result = malloc(BYTES);
    for (int i = 0; i < BYTES; i += 8) memset(result + i, picture[i] + 1, 8);
    return result;
}
int main(void) {
    int signal;
    ready();
    sigwait(&wanted, &signal);
    char *picture = calloc(1, BYTES);
    for (int i = 0; i < 7; i++) {
        char *result = brighter(picture);
        free(picture);
        picture = result;
    }
    printf("done %d\n", picture[BYTES / 2]);
    fflush(stdout);
    sigwait(&wanted, &signal);
    return 5;
}
