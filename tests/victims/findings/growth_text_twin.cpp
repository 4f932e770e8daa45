// victim: builds many texts in strings that are large enough from the start; flags: -std=c++17
#include <cstdio>
#include <string>
#include <vector>

__attribute__((noinline)) static std::string page(int n) {
    std::string text;
    text.reserve(1400);
    for (int i = 0; i < 60 + n % 10; i++)
        text += "a line of the page\n";
    return text;
}

int main() {
    std::vector<std::string> pages;
    pages.reserve(300);
    for (int i = 0; i < 300; i++) pages.push_back(page(i));
    std::printf("%zu bytes\n", pages.back().size());
}
