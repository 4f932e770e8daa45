// victim: makes an array with new[] for each message; flags: -std=c++17
// remedy: before the loop
#include <cstdio>
#include <cstring>

__attribute__((noinline)) static size_t message(int n) {
    char *text = new char[100 + n % 50]; // here: reuse-in-loop
    size_t length = (size_t)std::sprintf(text, "message %d", n);
    delete[] text;
    return length;
}

int main() {
    size_t total = 0;
    for (int i = 0; i < 5000; i++) total += message(i);
    std::printf("total %zu\n", total);
}
