//! Programs in C++ with an allocator of Debian's linked into them count as the same program with the C library's.

use heapwise_tests::build::compile_text;
use heapwise_tests::recording::Recording;
use heapwise_tests::run;
use std::path::Path;

/// A program in C++ that has its allocator linked into it: functions and operators of all kinds, two threads, and operators that throw.
const CXX: &str = r#"
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
struct alignas(64) Wide { char bytes[64]; };
template <class T> T *seen(T *block) { asm volatile("" : : "r"(block) : "memory"); return block; }
extern "C" __attribute__((noinline)) void work() {
    for (int i = 0; i < 1000; i++) {
        auto p = std::make_unique<char[]>(100);
        delete seen(new Wide);
        std::free(seen(std::realloc(seen(std::malloc(50)), 5000)));
        void *aligned = nullptr;
        if (posix_memalign(&aligned, 256, 300) == 0) std::free(seen(aligned));
        std::free(seen(std::calloc(3, 10)));
        ::operator delete(seen(::operator new(20, std::nothrow)), std::nothrow);
        delete[] seen(p.release());
    }
}
static volatile std::size_t too_much = std::size_t(1) << 62;
extern "C" __attribute__((noinline)) int fails() {
    int refused = 0;
    for (int i = 0; i < 20; i++) {
        try { delete[] seen(new char[too_much]); } catch (const std::bad_alloc &) { refused++; }
        delete seen(new int(5));
    }
    return refused;
}
int main() {
    std::thread thread(work);
    work();
    thread.join();
    std::map<std::string, std::string> map;
    for (int i = 0; i < 1000; i++) map[std::to_string(i) + " is a key that needs a block"] = "and so does its value, which is longer";
    return fails() == 20 && map.size() == 1000 ? 0 : 1;
}"#;

#[test]
fn a_program_in_cpp_with_an_allocator_of_debian_inside_is_recorded() {
    let folder = run::private_folder();
    let compile = |name: &str, arguments: &[&str]| {
        let flags = [&["-std=c++17"], arguments].concat();
        compile_text("c++", &flags, CXX, folder.path(), name)
    };
    let record = |program: &Path| {
        let folder = run::private_folder();
        let recorded = Recording::new(folder.path()).verify(5).record(program, &[]);
        assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
        let report = recorded.report();
        assert_eq!((report.order.unknown_frees, report.order.implicit_frees), (0, 0), "{program:?}");
        assert_eq!((report.totals.lost_events, report.stacks.verify_failed), (0, 0), "{program:?}");
        assert!(report.interception.blind_spots.is_empty(), "{:?}", report.interception.blind_spots);
        let live = |function: &str| report.sum(|stack| stack.contains(&function)).live;
        assert_eq!([live("work"), live("fails")], [0, 0], "{program:?}");
        let counts = ["work", "fails"].map(|function| recorded.below(function));
        (report.interception.allocator.clone(), counts)
    };
    let (allocator, expected) = record(&compile("plain", &[]));
    assert!(allocator.contains("libc.so"), "{allocator}");
    let of_one = [6000, 1000, 1000 * (100 + 64 + 50 + 5000 + 300 + 30 + 20)];
    assert_eq!(expected[0], of_one.map(|n| 2 * n));
    // As many exceptions as refusals.
    assert_eq!(expected[1][0], 40);
    for (library, name) in [("tcmalloc_minimal", "tcmalloc"), ("jemalloc", "jemalloc")] {
        let library = format!("-l{library}");
        let linked = ["-Wl,-Bstatic", &library, "-Wl,-Bdynamic", "-ldl"];
        let (allocator, counts) = record(&compile(name, &linked));
        assert_eq!((&*allocator, counts), (name, expected));
    }
}
