// victim: fills many vectors of the same size without saying so before; flags: -std=c++17
#include <cstdio>
#include <vector>

__attribute__((noinline)) static std::vector<long> fill(long n) {
    std::vector<long> squares;
    for (long i = 0; i < n; i++)
        squares.push_back(i * i); // here: growth
    return squares;
}

int main() {
    std::vector<std::vector<long>> all;
    all.reserve(300);
    for (int i = 0; i < 300; i++) all.push_back(fill(200 + i % 50));
    long sum = 0;
    for (const auto &squares : all)
        for (long square : squares) sum += square;
    std::printf("sum %ld\n", sum);
}
