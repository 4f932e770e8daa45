// victim: reads each line into a new string; flags: -std=c++17
// remedy: std::getline(in, line)
#include <cstdio>
#include <sstream>
#include <string>

__attribute__((noinline)) static size_t next(std::istream &in) {
    std::string line;
    std::getline(in, line); // here: read-to-string-per-item
    return line.size();
}

int main() {
    std::string text;
    for (int i = 0; i < 5000; i++) text += "a line that is longer than what fits into a string object\n";
    std::istringstream in(text);
    size_t total = 0;
    for (int i = 0; i < 5000; i++) total += next(in);
    std::printf("%zu bytes\n", total);
}
