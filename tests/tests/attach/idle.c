// Has 40 MB of blocks when `SIGUSR1` has come, and then waits in a frame with much room that it never writes to: whatever was on the stack
// there stays.
static void *blocks[400];
__attribute__((noinline, noipa)) static void *block(void) { return memset(malloc(100000), 1, 100000); }
__attribute__((noinline, noipa)) static void touch(char *room) { (void)room; }
__attribute__((noinline, noipa)) static int wait_with_room(void) {
    char room[1 << 16];
    int signal = 0;
    touch(room);
    printf("waits\n");
    fflush(stdout);
    sigwait(&wanted, &signal);
    touch(room);
    return signal;
}
int main(void) {
    int signal;
    ready();
    sigwait(&wanted, &signal);
    for (int i = 0; i < 400; i++) blocks[i] = block();
    return wait_with_room() == SIGTERM ? 5 : 6;
}
