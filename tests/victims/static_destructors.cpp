// victim: static objects whose constructors run before main and whose destructors allocate after it; flags:
#include <cstdio>
#include <map>
#include <string>

static void *volatile sink;

__attribute__((noinline, noipa)) static void in_constructor() { sink = new char[33]; }
__attribute__((noinline, noipa)) static void in_destructor() { sink = new char[44]; }

struct Early {
    std::map<int, std::string> names;
    Early() {
        in_constructor();
        for (int i = 0; i < 100; i++) names[i] = "a name too long for the small string " + std::to_string(i);
    }
    ~Early() {
        for (int i = 0; i < 10; i++) in_destructor();
        std::printf("destroyed %zu names\n", names.size());
    }
};

static Early early;

static Early &on_first_use() {
    static Early late;
    return late;
}

int main() {
    std::printf("main sees %zu and %zu\n", early.names.size(), on_first_use().names.size());
    std::puts("expect site=in_constructor blocks=2 bytes=66 live=2 live_bytes=66");
    std::puts("expect site=in_destructor blocks=20 bytes=880 live=20 live_bytes=880");
}
