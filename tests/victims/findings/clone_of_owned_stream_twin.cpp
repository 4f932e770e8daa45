// victim: writes all lines into one stream that it empties; flags: -std=c++17
#include <cstdio>
#include <sstream>
#include <string>

__attribute__((noinline)) static size_t line(std::ostringstream &stream, int x, int y) {
    stream.seekp(0);
    stream << "the point is at " << x << ", " << y;
    return (size_t)stream.tellp();
}

int main() {
    size_t total = 0;
    std::ostringstream stream;
    for (int i = 0; i < 5000; i++) total += line(stream, i, -i);
    std::printf("%zu bytes\n", total);
}
