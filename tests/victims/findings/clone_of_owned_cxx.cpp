// victim: takes strings by value only to measure them; flags: -std=c++17
#include <cstdio>
#include <string>
#include <vector>

__attribute__((noinline)) static size_t measure(std::string name) { return name.size() + name[0]; }

__attribute__((noinline)) static size_t all(const std::vector<std::string> &names) {
    size_t total = 0;
    for (const auto &name : names)
        total += measure(name); // here: clone-of-owned
    return total;
}

int main() {
    std::vector<std::string> names(100, std::string(40, 'x'));
    size_t total = 0;
    for (int i = 0; i < 50; i++) total += all(names);
    std::printf("total %zu\n", total);
}
