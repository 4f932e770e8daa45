// victim: joins two strings before it appends them to a third one; flags: -std=c++17
// remedy: text += a; text += b;
#include <cstdio>
#include <string>

__attribute__((noinline)) static std::string join(const std::string &name, const std::string &end, int n) {
    std::string text;
    for (int i = 0; i < n; i++)
        text += name + end; // here: clone-of-owned
    return text;
}

int main() { std::printf("%zu bytes\n", join("a name that is quite long", ", and so on\n", 20000).size()); }
