// victim: keeps each point of a curve in a block; flags: -std=c++17
// remedy: std::vector
#include <cstdio>
#include <memory>
#include <vector>

struct Point {
    double x, y;
};

__attribute__((noinline)) static void add(std::vector<std::unique_ptr<Point>> &curve, double x) {
    curve.push_back(std::make_unique<Point>(Point{x, x * x})); // here: small-boxes
}

int main() {
    std::vector<std::unique_ptr<Point>> curve;
    curve.reserve(30000);
    for (int i = 0; i < 30000; i++) add(curve, i);
    double sum = 0;
    for (const auto &point : curve) sum += point->y;
    std::printf("sum %f\n", sum);
}
