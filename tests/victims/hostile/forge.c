// victim: attacks its recorder through the shared memory, in the way that its first argument names, perhaps in the name of a process (the second) and as nobody (the third); flags:
#define _GNU_SOURCE
#include "session.h"
#include <grp.h>
#include <time.h>

static uint64_t own;

__attribute__((noinline, noipa)) static void in_attacker(void) {
    void *volatile p = malloc(77);
    free(p);
}

static void pause_ms(int ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

// A header that seems complete, in the middle of nowhere or at another place of this process's memory.
static void forge_header(uint64_t offset, uint32_t pid) {
    memcpy((void *)at(offset), (void *)at(own), PROCESS_ALLOCATOR);
    *word_at(offset + PROCESS_PID) = pid;
    *long_at(offset + PROCESS_ARENAS) = offset;
    *long_at(offset + PROCESS_PREVIOUS) = *long_at(SESSION_NEWEST);
    *long_at(SESSION_NEWEST) = offset;
}

// An arena that was taken before the privileges were given up; none can be taken afterwards.
static uint64_t taken;

// An arena more, taken as the recorder takes it: a header that names any process can be written there.
static uint64_t take_arena(void) {
    if (taken) return taken;
    int file = open(getenv("HEAPWISE_SESSION"), O_RDWR);
    uint64_t offset = __atomic_fetch_add(long_at(SESSION_NEXT_ARENA), ARENA_BYTES, __ATOMIC_RELAXED);
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
    close(file);
    if (mapped == MAP_FAILED || mapping_count == MOST_MAPPINGS) {
        fprintf(stderr, "no arena: %m\n");
        exit(3);
    }
    mappings[mapping_count].at = mapped;
    mappings[mapping_count].offset = offset;
    mappings[mapping_count++].len = ARENA_BYTES;
    return offset;
}

static void newest(uint64_t offset) { *long_at(SESSION_NEWEST) = offset; }

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "not";
    uint32_t other = argc > 2 ? atoi(argv[2]) : 0;
    find_session();
    own = own_header();
    if (!own) return 2;
    for (int i = 0; i < 1000; i++) in_attacker();
    if (argc > 3 && !strcmp(argv[3], "nobody")) {
        taken = take_arena();
        if (setgroups(0, NULL) || setgid(65534) || setuid(65534)) return 7;
    }
    // Until the recorder has seen this process, a list that is broken does not matter.
    pause_ms(60);
    if (!strcmp(how, "self-cycle")) {
        uint64_t forged = take_arena();
        forge_header(forged, getpid());
        *long_at(forged + PROCESS_PREVIOUS) = forged;
    } else if (!strcmp(how, "long-cycle")) {
        uint64_t one = take_arena(), two = take_arena();
        forge_header(one, getpid());
        forge_header(two, getpid());
        *long_at(one + PROCESS_PREVIOUS) = two;
    } else if (!strcmp(how, "beyond")) {
        newest((1ull << 46) + HEADER_BYTES);
        pause_ms(20);
        newest(UINT64_MAX);
        pause_ms(20);
        newest((1ull << 46) - 4096);
    } else if (!strcmp(how, "unaligned")) {
        newest(own + 8);
        pause_ms(20);
        newest(own + 4096);
    } else if (!strcmp(how, "below")) {
        newest(4096);
        pause_ms(20);
        newest(1);
    } else if (!strcmp(how, "arenas")) {
        // Beyond the end, unaligned, and the whole of the session.
        *long_at(own + PROCESS_ARENAS + 8) = (1ull << 46) - 4096;
        pause_ms(20);
        for (int i = 1; i < 256; i++) *long_at(own + PROCESS_ARENAS + 8 * i) = (uint64_t)i * 0x1234567;
    } else if (!strcmp(how, "overlap")) {
        // The arenas of all others.
        for (int i = 1; i < 256; i++)
            *long_at(own + PROCESS_ARENAS + 8 * i) = HEADER_BYTES + (uint64_t)(i - 1) * ARENA_BYTES;
    } else if (!strcmp(how, "truncate")) {
        int file = open(getenv("HEAPWISE_SESSION"), O_RDWR);
        if (file < 0) return 4;
        int cut = ftruncate(file, 4096), grown = ftruncate(file, 1ll << 47);
        fprintf(stderr, "truncated: %d %d\n", cut, grown);
    } else if (!strcmp(how, "pid")) {
        // In the name of another process, first at a separate place, then at that process's.
        uint64_t forged = take_arena();
        forge_header(forged, other);
        *long_at(forged + PROCESS_ARENAS + 8) = HEADER_BYTES;
        pause_ms(100);
        *word_at(own + PROCESS_PID) = other;
    } else if (!strcmp(how, "nodes")) {
        *word_at(own + PROCESS_NODE_COUNT) = UINT32_MAX;
        for (int i = 1; i < 1024; i++) *long_at(own + PROCESS_NODE_CHUNKS + 8 * i) = *long_at(own + PROCESS_NODE_CHUNKS);
    } else if (!strcmp(how, "rings")) {
        // As many as there can be, upon each other and upon the header.
        for (int i = 1; i < 8192; i++) *long_at(own + PROCESS_RINGS + 8 * i) = i % 2 ? own + 64 * i : *long_at(own + PROCESS_RINGS);
        *word_at(own + PROCESS_RING_COUNT) = UINT32_MAX;
        for (int i = 0; i < 100; i++) {
            *long_at(*long_at(own + PROCESS_RINGS) + RING_HEAD) += 1 << 20;
            pause_ms(1);
        }
    } else if (!strcmp(how, "incarnations")) {
        // Threads that never were, in rings that are in order.
        uint64_t arena = take_arena();
        *long_at(own + PROCESS_ARENAS + 8) = arena;
        for (int i = 1; i < 32; i++) {
            uint64_t ring = arena + (uint64_t)(i - 1) * ((2 << 20) + 4096);
            *long_at(own + PROCESS_RINGS + 8 * i) = ring;
        }
        *word_at(own + PROCESS_RING_COUNT) = 32;
        for (int n = 1; n < 300; n++) {
            for (int i = 1; i < 32; i++) {
                uint64_t ring = *long_at(own + PROCESS_RINGS + 8 * i);
                *word_at(ring + RING_TID) = 4000000 + n;
                *long_at(ring + RING_INCARNATION) += 1;
                *word_at(ring + RING_STATE) = 1;
            }
            pause_ms(1);
        }
    } else if (!strcmp(how, "many")) {
        // Headers of processes that never were.
        for (int n = 0; n < 10; n++) {
            forge_header(take_arena(), 3000000 + n);
            pause_ms(5);
        }
    } else if (!strcmp(how, "exit_handshake")) {
        for (int i = 0; i < 300; i++) {
            *word_at(own + PROCESS_EXITING) = 1;
            *word_at(SESSION_WAKE) = 0;
            pause_ms(1);
        }
    } else if (!strcmp(how, "exec")) {
        // What every program may do: another program in the same process.
        char *again[] = {argv[0], "not", NULL};
        execv(argv[0], again);
        return 5;
    } else if (strcmp(how, "not")) {
        return 6;
    }
    for (int i = 0; i < 1000; i++) in_attacker();
    pause_ms(100);
    // The recorder is left behind, and not asked for leave: its counts are wrong by now.
    fflush(stderr);
    _exit(0);
}
