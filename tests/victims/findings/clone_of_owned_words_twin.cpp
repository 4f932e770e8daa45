// victim: counts words in one buffer for their normal form, and copies only those that are new; flags: -std=c++17
#include <cctype>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

__attribute__((noinline)) static size_t count(const std::vector<std::string> &words) {
    std::map<std::string, int, std::less<>> counts;
    std::string normal;
    for (const auto &word : words) {
        normal.clear();
        for (char c : word) normal += (char)std::tolower((unsigned char)c);
        auto found = counts.find(std::string_view(normal));
        if (found == counts.end()) found = counts.emplace(normal, 0).first;
        found->second++;
    }
    return counts.size();
}

int main() {
    std::vector<std::string> words;
    for (int i = 0; i < 20000; i++) words.push_back("An-Extraordinarily-Long-Word-" + std::to_string(i % 100));
    std::printf("%zu words\n", count(words));
}
