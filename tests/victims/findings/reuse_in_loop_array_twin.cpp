// victim: uses one array on the stack for each message; flags: -std=c++17
#include <cstdio>
#include <cstring>

__attribute__((noinline)) static size_t message(int n) {
    char text[160];
    return (size_t)std::sprintf(text, "message %d", n);
}

int main() {
    size_t total = 0;
    for (int i = 0; i < 5000; i++) total += message(i);
    std::printf("total %zu\n", total);
}
