// plugin: operators of C++ that put a header in front of each block of malloc
#include <cstdlib>
#include <new>

enum { HEADER = 32 };

void *operator new(std::size_t size) {
    char *block = static_cast<char *>(std::malloc(size + HEADER));
    if (!block) throw std::bad_alloc();
    return block + HEADER;
}
void *operator new[](std::size_t size) { return operator new(size); }
void operator delete(void *block) noexcept {
    if (block) std::free(static_cast<char *>(block) - HEADER);
}
void operator delete[](void *block) noexcept { operator delete(block); }
void operator delete(void *block, std::size_t) noexcept { operator delete(block); }
void operator delete[](void *block, std::size_t) noexcept { operator delete(block); }
