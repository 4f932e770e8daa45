// victim: has asked the system for no huge pages, and waits to be looked at
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void) {
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
