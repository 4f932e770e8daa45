// victim: has each request on the stack; flags: -std=c++17
#include <cstdio>

struct Request {
    long id;
    long size;
};

__attribute__((noinline)) static long serve(const Request &request) { return request.id ^ request.size; }

int main() {
    long sum = 0;
    for (long i = 0; i < 5000; i++) {
        Request request{i, i * 3};
        sum += serve(request);
    }
    std::printf("sum %ld\n", sum);
}
