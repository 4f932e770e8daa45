// victim: asks for blocks of the sizes that it is given, says what it got, and ends with the code that stands behind a slash
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    int code = 0;
    for (int i = 1; i < count; i++) {
        if (words[i][0] == '/') {
            code = atoi(words[i] + 1);
            continue;
        }
        size_t size = strtoul(words[i], NULL, 10);
        char *volatile block = malloc(size);
        if (!block) {
            printf("no block of %zu\n", size);
            return 5;
        }
        memset(block, 1, size);
        free(block);
        printf("a block of %zu\n", size);
    }
    return code;
}
