// victim: makes each point on the stack; flags: -std=c++17
#include <cstdio>

struct Point {
    double x, y;
};

static Point *volatile shown;

__attribute__((noinline)) static double length(double x, double y) {
    Point point{x, y};
    shown = &point;
    return shown->x * shown->x + shown->y * shown->y;
}

int main() {
    double sum = 0;
    for (int i = 0; i < 5000; i++) sum += length(i, -i);
    std::printf("sum %f\n", sum);
}
