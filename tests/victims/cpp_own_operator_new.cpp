// victim: replaces the global operator new and delete by its own, which forward to malloc and count; flags:
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

static long news, deletes;

__attribute__((noinline, noipa)) void *operator new(std::size_t n) {
    news++;
    void *p = std::malloc(n);
    if (!p) throw std::bad_alloc();
    return p;
}
__attribute__((noinline, noipa)) void operator delete(void *p) noexcept {
    if (p) deletes++;
    std::free(p);
}
void operator delete(void *p, std::size_t) noexcept { operator delete(p); }

__attribute__((noinline, noipa)) static std::size_t work(int n) {
    std::vector<std::string> all;
    all.reserve(n);
    for (int i = 0; i < n; i++) all.push_back(std::string(40 + i, 'x'));
    return all.back().size();
}

int main() {
    // Other libraries may have used these operators before main.
    long n = news, d = deletes;
    std::size_t size = work(1000);
    std::printf("last %zu, news %ld, deletes %ld\n", size, news - n, deletes - d);
    std::printf("expect site=work blocks=%ld live=0\n", news - n);
}
