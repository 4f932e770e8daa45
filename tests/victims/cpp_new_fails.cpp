// victim: a new that is too large calls the new handler, then throws bad_alloc, again and again; flags:
#include <cstddef>
#include <cstdio>
#include <new>

static volatile std::size_t too_much = std::size_t(1) << 46;
static void *volatile sink;
static int handled, caught, null;

static void handler() {
    // The handler gets three chances, then removes itself so that new gives up.
    if (++handled % 3 == 0) std::set_new_handler(nullptr);
}

__attribute__((noinline, noipa)) static void failing() { sink = ::operator new(too_much); }

int main() {
    for (int i = 0; i < 100; i++) {
        std::set_new_handler(handler);
        try {
            failing();
        } catch (const std::bad_alloc &) {
            caught++;
        }
        if (!::operator new(too_much, std::nothrow)) null++;
    }
    std::printf("handled %d caught %d null %d\n", handled, caught, null);
    // Each bad_alloc object itself is a block of the exception runtime below this function.
    std::puts("expect site=failing blocks=100 live=0");
}
