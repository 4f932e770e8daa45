// victim: makes a vector for the sums of each row; flags: -std=c++17
// remedy: std::vector<T> buffer;
#include <cstdio>
#include <vector>

__attribute__((noinline)) static double row(int n) {
    std::vector<double> sums(64); // here: reuse-in-loop
    for (int i = 1; i < 64; i++) sums[i] = sums[i - 1] + n;
    return sums[63];
}

int main() {
    double total = 0;
    for (int i = 0; i < 5000; i++) total += row(i);
    std::printf("total %f\n", total);
}
