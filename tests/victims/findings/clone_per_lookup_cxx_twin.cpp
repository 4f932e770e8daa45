// victim: looks up with a view, and builds a string for new keys only; flags: -std=c++17
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

__attribute__((noinline)) static void add(std::map<std::string, int, std::less<>> &counts, std::string_view key) {
    auto found = counts.find(key);
    if (found == counts.end()) found = counts.emplace(std::string(key), 0).first;
    found->second++;
}

int main() {
    std::map<std::string, int, std::less<>> counts;
    char key[64];
    for (int i = 0; i < 5000; i++) {
        int length = std::snprintf(key, sizeof key, "a key that does not fit into the object %d", i % 40);
        add(counts, std::string_view(key, (size_t)length));
    }
    std::printf("%zu keys\n", counts.size());
}
