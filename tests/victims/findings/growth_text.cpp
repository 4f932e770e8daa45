// victim: builds many texts of the same size piece by piece; flags: -std=c++17
// remedy: text.reserve(
#include <cstdio>
#include <string>
#include <vector>

__attribute__((noinline)) static std::string page(int n) {
    std::string text;
    for (int i = 0; i < 60 + n % 10; i++)
        text += "a line of the page\n"; // here: growth
    return text;
}

int main() {
    std::vector<std::string> pages;
    pages.reserve(300);
    for (int i = 0; i < 300; i++) pages.push_back(page(i));
    std::printf("%zu bytes\n", pages.back().size());
}
