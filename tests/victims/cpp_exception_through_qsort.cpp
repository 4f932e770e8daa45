// victim: exceptions and nested rethrows that leave through qsort, a frame of libc without handlers; flags:
#include <cstdio>
#include <cstdlib>
#include <string>

static const char text[] = "comparison gave up, and this text is not short";
static int calls;
static void *volatile sink;

__attribute__((noinline, noipa)) static int copied(const int *value) {
    auto p = new int(*value);
    sink = p;
    int x = *p;
    delete p;
    return x;
}

static int compare(const void *a, const void *b) {
    int x = copied(static_cast<const int *>(a)) - *static_cast<const int *>(b);
    if (++calls % 50 == 0) throw std::string(text);
    return x;
}

__attribute__((noinline, noipa)) static void sort_some() {
    int v[64];
    for (int i = 0; i < 64; i++) v[i] = (i * 37) % 64;
    try {
        std::qsort(v, 64, sizeof v[0], compare);
    } catch (const std::string &) {
        throw;
    }
}

int main() {
    int caught = 0;
    for (int i = 0; i < 500; i++) {
        try {
            sort_some();
        } catch (const std::string &s) {
            caught += s == text;
        }
    }
    std::printf("caught %d of 500, comparisons %d\n", caught, calls);
    std::printf("expect site=copied blocks=%d bytes=%d live=0\n", calls, calls * 4);
}
