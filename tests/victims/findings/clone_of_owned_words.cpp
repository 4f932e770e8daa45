// victim: counts words, with a copy of each word for the loop and another one for the call; flags: -std=c++17
// remedy: const auto &
// evidence: 40,000 blocks
#include <cctype>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

static std::string normalise(std::string word) {
    for (char &c : word) c = (char)std::tolower((unsigned char)c);
    return word;
}

__attribute__((noinline)) static size_t count(const std::vector<std::string> &words) {
    std::map<std::string, int> counts;
    for (auto word : words) counts[normalise(word)]++; // here: clone-of-owned
    return counts.size();
}

int main() {
    std::vector<std::string> words;
    for (int i = 0; i < 20000; i++) words.push_back("An-Extraordinarily-Long-Word-" + std::to_string(i % 100));
    std::printf("%zu words\n", count(words));
}
