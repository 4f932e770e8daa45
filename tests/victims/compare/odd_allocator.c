// plugin: glibc's malloc, but for sizes that it aborts on (123457), hangs on (234567), does not have (345677) or ends the program on (456791)
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);

void *malloc(size_t size) {
    switch (size) {
    case 123457:
        fputs("odd: heap corrupted \033[31m<b>`x`|\n", stderr);
        abort();
    case 234567:
        for (;;) pause();
    case 345677:
        return NULL;
    case 456791:
        _exit(9);
    }
    return __libc_malloc(size);
}
void *calloc(size_t n, size_t size) { return __libc_calloc(n, size); }
void *realloc(void *block, size_t size) { return __libc_realloc(block, size); }
void free(void *block) { __libc_free(block); }
