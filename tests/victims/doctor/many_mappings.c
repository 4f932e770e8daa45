// victim: has nearly as many mappings as the system allows, and waits to be looked at
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
    long most = 0;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    if (!file || fscanf(file, "%ld", &most) != 1) return 1;
    fclose(file);
    // Neighbours with different rights do not become one.
    long pages = most / 10 * 9;
    char *at = mmap(NULL, pages * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return 1;
    for (long i = 0; i < pages; i += 2) mprotect(at + i * 4096, 4096, PROT_NONE);
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
