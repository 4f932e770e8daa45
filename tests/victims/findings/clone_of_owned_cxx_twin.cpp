// victim: takes strings by reference to measure them; flags: -std=c++17
#include <cstdio>
#include <string>
#include <vector>

__attribute__((noinline)) static size_t measure(const std::string &name) { return name.size() + name[0]; }

__attribute__((noinline)) static size_t all(const std::vector<std::string> &names) {
    size_t total = 0;
    for (const auto &name : names) total += measure(name);
    return total;
}

int main() {
    std::vector<std::string> names;
    for (int i = 0; i < 5000; i++) names.push_back(std::string(40, 'x'));
    size_t total = 0;
    for (int i = 0; i < 50; i++) total += all(names);
    std::printf("total %zu\n", total);
}
