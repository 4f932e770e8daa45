// victim: uses one vector for the sums of all rows; flags: -std=c++17
#include <cstdio>
#include <vector>

__attribute__((noinline)) static double row(std::vector<double> &sums, int n) {
    sums.assign(64, 0.0);
    for (int i = 1; i < 64; i++) sums[i] = sums[i - 1] + n;
    return sums[63];
}

int main() {
    std::vector<double> sums;
    double total = 0;
    for (int i = 0; i < 5000; i++) total += row(sums, i);
    std::printf("total %f\n", total);
}
