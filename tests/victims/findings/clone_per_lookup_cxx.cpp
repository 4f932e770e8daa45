// victim: builds a string for each access of a map; flags: -std=c++17
// remedy: std::less<>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

__attribute__((noinline)) static void add(std::map<std::string, int> &counts, std::string_view key) {
    counts[std::string(key)]++; // here: clone-per-lookup
}

int main() {
    std::map<std::string, int> counts;
    char key[64];
    for (int i = 0; i < 5000; i++) {
        int length = std::snprintf(key, sizeof key, "a key that does not fit into the object %d", i % 40);
        add(counts, std::string_view(key, (size_t)length));
    }
    std::printf("%zu keys\n", counts.size());
}
