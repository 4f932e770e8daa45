// victim: makes a stream for each line that it writes; flags: -std=c++17
// remedy: stream.str("")
#include <cstdio>
#include <sstream>
#include <string>

__attribute__((noinline)) static size_t line(int x, int y) {
    std::ostringstream stream;
    stream << "the point is at " << x << ", " << y; // here: clone-of-owned
    return (size_t)stream.tellp();
}

int main() {
    size_t total = 0;
    for (int i = 0; i < 5000; i++) total += line(i, -i);
    std::printf("%zu bytes\n", total);
}
