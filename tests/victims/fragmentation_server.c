// victim: connections of varied sizes of which most live short and some long, as in a server; at last all but every fiftieth are closed; flags: -D_GNU_SOURCE -ldl
#include "allocator_says.h"
#include <stdlib.h>
#include <string.h>

#define MOST 20000
#define SITE __attribute__((noinline, noipa)) static
static struct { char *buffer; int left; size_t size; } slots[MOST];
static unsigned long long state = 98765;
static long opened, bytes, kept, kept_bytes;

static unsigned random_bits(void) {
    state = state * 6364136223846793005ULL + 1;
    return (unsigned)(state >> 33);
}

SITE char *connect_one(size_t size) { return memset(malloc(size), 1, size); }

static void expire(int all) {
    long seen = 0;
    for (int i = 0; i < MOST; i++) {
        if (!slots[i].buffer) continue;
        if (all ? seen++ % 50 != 0 : --slots[i].left < 0) {
            free(slots[i].buffer);
            slots[i].buffer = NULL;
        } else if (all) {
            kept++;
            kept_bytes += slots[i].size;
        }
    }
}

int main(void) {
    for (int round = 0; round < 3000; round++) {
        int slot = 0;
        for (int new = 2 + random_bits() % 4; new > 0; new--) {
            while (slots[slot].buffer) slot++;
            size_t size = 128u << random_bits() % 8;
            slots[slot].buffer = connect_one(size);
            slots[slot].size = size;
            slots[slot].left = random_bits() % 10 < 7 ? 1 + random_bits() % 20 : 100 + random_bits() % 1900;
            opened++;
            bytes += size;
        }
        expire(0);
    }
    expire(1);
    allocator_says();
    printf("expect site=connect_one blocks=%ld bytes=%ld live=%ld live_bytes=%ld\n", opened, bytes, kept, kept_bytes);
    return 0;
}
