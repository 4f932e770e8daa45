// victim: makes a point with new and deletes it, for each pair of numbers; flags: -std=c++17
// remedy: T value;
#include <cstdio>

struct Point {
    double x, y;
};

static Point *volatile shown;

__attribute__((noinline)) static double length(double x, double y) {
    Point *point = new Point{x, y}; // here: temporary-box
    shown = point;
    double length = shown->x * shown->x + shown->y * shown->y;
    delete point;
    return length;
}

int main() {
    double sum = 0;
    for (int i = 0; i < 5000; i++) sum += length(i, -i);
    std::printf("sum %f\n", sum);
}
