// The recorder's shared memory as a hostile program finds it. The offsets are those of crates/record/trace/src/live/layout.rs;
// a test compares them.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEADER_BYTES 65536
#define ARENA_BYTES 67108864

#define SESSION_CLOCK 64
#define SESSION_NEXT_ARENA 128
#define SESSION_WAKE 192
#define SESSION_NEWEST 256

#define PROCESS_PREVIOUS 0
#define PROCESS_PID 8
#define PROCESS_ALLOCATOR_LEN 36
#define PROCESS_RING_COUNT 72
#define PROCESS_NODE_COUNT 76
#define PROCESS_EXITING 84
#define PROCESS_ARENAS 112
#define PROCESS_RINGS 2160
#define PROCESS_NODE_CHUNKS 67696
#define PROCESS_ALLOCATOR 80072

#define RING_HEAD 0
#define RING_STATE 128
#define RING_TID 132
#define RING_INCARNATION 144

#define MOST_MAPPINGS 16
// Mappings of the session in this process, and where in the session they lie.
static struct { volatile char *at; uint64_t offset, len; } mappings[MOST_MAPPINGS];
static int mapping_count;

static void find_session(void) {
    int file = open("/proc/self/maps", O_RDONLY);
    static char text[1 << 20];
    size_t len = 0;
    ssize_t got;
    while (file >= 0 && (got = read(file, text + len, sizeof text - 1 - len)) > 0) len += got;
    close(file);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        unsigned long start, end, offset;
        if (!strstr(line, "heapwise-session") || mapping_count == MOST_MAPPINGS) continue;
        if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3) continue;
        mappings[mapping_count].at = (volatile char *)start;
        mappings[mapping_count].offset = offset;
        mappings[mapping_count++].len = end - start;
    }
}

// Where an offset of the session is mapped here; null if it is not.
static inline volatile char *at(uint64_t offset) {
    for (int i = 0; i < mapping_count; i++)
        if (offset >= mappings[i].offset && offset < mappings[i].offset + mappings[i].len)
            return mappings[i].at + (offset - mappings[i].offset);
    return NULL;
}
static inline volatile uint64_t *long_at(uint64_t offset) { return (volatile uint64_t *)at(offset); }
static inline volatile uint32_t *word_at(uint64_t offset) { return (volatile uint32_t *)at(offset); }

// Where this process's own header is.
static inline uint64_t own_header(void) {
    for (int i = 0; i < mapping_count; i++)
        if (mappings[i].offset >= HEADER_BYTES) return mappings[i].offset;
    return 0;
}

// Maps all of this process's first arena, of which the recorder maps no more than it needs. Returns whether that could be done.
static inline int map_whole_arena(void) {
    for (int i = 0; i < mapping_count; i++) {
        if (mappings[i].offset < HEADER_BYTES) continue;
        // A copy of a shared mapping may be larger than what it is made of.
        void *whole = mremap((void *)mappings[i].at, 0, ARENA_BYTES, MREMAP_MAYMOVE);
        if (whole == MAP_FAILED) return 0;
        mappings[i].at = whole;
        mappings[i].len = ARENA_BYTES;
        return 1;
    }
    return 0;
}
