// victim: prints how large blocks really are, which is another thing with another allocator
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    puts("a line that is the same");
    char *volatile block = malloc(100);
    printf("usable: %zu\n", malloc_usable_size(block));
    free(block);
    return 0;
}
