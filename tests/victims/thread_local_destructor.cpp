// victim: C++ thread_local objects whose destructors allocate when their threads end; flags: -pthread
#include <cstdio>
#include <thread>

static void *volatile sink;

__attribute__((noinline, noipa)) static void in_destructor() {
    sink = new char[56];
    delete[] static_cast<char *>(sink);
}

__attribute__((noinline, noipa)) static void in_thread() {
    sink = new char[24];
    delete[] static_cast<char *>(sink);
}

struct Late {
    int *value = new int(1);
    ~Late() {
        in_destructor();
        delete value;
    }
};

static thread_local Late late;

int main() {
    int total = 0;
    total += *late.value;
    for (int i = 0; i < 100; i++) {
        std::thread t([&] {
            total += *late.value;
            in_thread();
        });
        t.join();
    }
    std::printf("total %d\n", total);
    // The object of the main thread is destroyed too, when main returns.
    std::puts("expect site=in_destructor blocks=101 bytes=5656 live=0");
    std::puts("expect site=in_thread blocks=100 bytes=2400 live=0");
}
