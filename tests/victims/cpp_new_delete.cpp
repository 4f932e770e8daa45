// victim: uses every form of new and delete (array, nothrow, aligned, sized, placement); flags: -std=c++17
#include <cstdint>
#include <cstdio>
#include <new>

#define SITE __attribute__((noinline, noipa)) static
static void *volatile sink;

struct alignas(128) Wide { char c[128]; };
struct WithDtor { char c[24]; ~WithDtor() { c[0] = 0; } };

SITE void plain_new() { sink = new char[1]; delete[] static_cast<char *>(sink); }
SITE void scalar_new() { auto p = new WithDtor; sink = p; delete p; }
// An array whose elements have destructors carries its length in front of them.
SITE void array_new() { auto p = new WithDtor[10]; sink = p; delete[] p; }
SITE void nothrow_new() { auto p = new (std::nothrow) int[25]; sink = p; delete[] p; }
SITE void aligned_new() {
    auto p = new Wide;
    sink = p;
    if (reinterpret_cast<std::uintptr_t>(p) % 128) std::puts("badly aligned");
    delete p;
}
SITE void aligned_array_new() { auto p = new Wide[3]; sink = p; delete[] p; }
SITE void sized_delete() { void *p = ::operator new(300); sink = p; ::operator delete(p, 300); }
SITE void aligned_nothrow_new() {
    void *p = ::operator new(64, std::align_val_t(64), std::nothrow);
    sink = p;
    ::operator delete(p, 64, std::align_val_t(64));
}
SITE void placement_new() {
    alignas(WithDtor) char room[sizeof(WithDtor)];
    auto p = new (room) WithDtor;
    p->c[1] = 1;
    p->~WithDtor();
}
SITE void leak_here() { sink = new int[16]; }

int main() {
    for (int i = 0; i < 10; i++) {
        plain_new(); scalar_new(); array_new(); nothrow_new(); aligned_new();
        aligned_array_new(); sized_delete(); aligned_nothrow_new(); placement_new(); leak_here();
    }
    std::puts("expect site=plain_new blocks=10 bytes=10 live=0");
    std::puts("expect site=scalar_new blocks=10 bytes=240 live=0");
    std::puts("expect site=array_new blocks=10 bytes=2480 live=0");
    std::puts("expect site=nothrow_new blocks=10 bytes=1000 live=0");
    std::puts("expect site=aligned_new blocks=10 bytes=1280 live=0");
    std::puts("expect site=aligned_array_new blocks=10 bytes=3840 live=0");
    std::puts("expect site=sized_delete blocks=10 bytes=3000 live=0");
    std::puts("expect site=aligned_nothrow_new blocks=10 bytes=640 live=0");
    std::puts("expect site=placement_new blocks=0 bytes=0 live=0");
    std::puts("expect site=leak_here blocks=10 bytes=640 live=10 live_bytes=640");
}
