// victim: keeps the points of a curve in one vector; flags: -std=c++17
#include <cstdio>
#include <vector>

struct Point {
    double x, y;
};

__attribute__((noinline)) static void add(std::vector<Point> &curve, double x) { curve.push_back(Point{x, x * x}); }

int main() {
    std::vector<Point> curve;
    curve.reserve(30000);
    for (int i = 0; i < 30000; i++) add(curve, i);
    double sum = 0;
    for (const auto &point : curve) sum += point.y;
    std::printf("sum %f\n", sum);
}
