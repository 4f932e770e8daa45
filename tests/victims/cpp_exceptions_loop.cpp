// victim: throws through ten frames with destructors 2000 times and allocates before, during and after; flags:
#include <cstdio>
#include <memory>
#include <stdexcept>

static void *volatile sink;

struct Guard {
    int *p;
    explicit Guard(int n) : p(new int[n]) { sink = p; }
    // Runs while the stack is being unwound, and allocates in that state.
    __attribute__((noinline)) ~Guard() { sink = new char[8]; delete[] static_cast<char *>(sink); delete[] p; }
};

__attribute__((noinline, noipa)) static int sink_down(int depth, int i) {
    Guard g(depth + 1);
    if (depth == 0) throw std::runtime_error("number " + std::to_string(i) + " of a long message");
    return sink_down(depth - 1, i) + 1;
}

__attribute__((noinline, noipa)) static void after_catch() {
    sink = new char[48];
    delete[] static_cast<char *>(sink);
}

int main() {
    long caught = 0, length = 0;
    for (int i = 0; i < 2000; i++) {
        try {
            sink_down(i % 10, i);
        } catch (const std::exception &e) {
            caught++;
            for (const char *c = e.what(); *c; c++) length++;
            after_catch();
        }
    }
    std::printf("caught %ld, length %ld\n", caught, length);
    std::puts("expect site=after_catch blocks=2000 bytes=96000 live=0");
}
