// victim: puts each request on the heap, shares it with no other owner, and drops it; flags: -std=c++17
// remedy: T value;
#include <cstdio>
#include <memory>

struct Request {
    long id;
    long size;
};

__attribute__((noinline)) static long serve(const std::shared_ptr<Request> &request) { return request->id ^ request->size; }

int main() {
    long sum = 0;
    for (long i = 0; i < 5000; i++) {
        auto request = std::make_shared<Request>(Request{i, i * 3}); // here: temporary-box
        sum += serve(request);
    }
    std::printf("sum %ld\n", sum);
}
