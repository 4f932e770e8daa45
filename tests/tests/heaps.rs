//! Heaps of mimalloc that a program has beside each other are recorded, with what is given up when one of them ends.

use heapwise_tests::build::compile_text;
use heapwise_tests::recording::Recording;
use heapwise_tests::{run, tool};

/// Work with heaps of mimalloc: one is destroyed with 1,500 of its 2,000 blocks, among them large ones; one is deleted, and its 100
/// blocks, each of which has been resized, live on until the second half of them is freed. Two texts are copied and freed.
const HEAPS: &str = r#"
#include <stdbool.h>
#include <stddef.h>
typedef struct mi_heap_s mi_heap_t;
mi_heap_t *mi_heap_new(void); void mi_heap_delete(mi_heap_t *); void mi_heap_destroy(mi_heap_t *);
void *mi_heap_malloc(mi_heap_t *, size_t); void *mi_heap_calloc(mi_heap_t *, size_t, size_t);
void *mi_heap_malloc_aligned(mi_heap_t *, size_t, size_t); void *mi_heap_realloc(mi_heap_t *, void *, size_t);
char *mi_heap_strdup(mi_heap_t *, const char *); char *mi_strndup(const char *, size_t);
void *mi_recalloc_aligned(void *, size_t, size_t, size_t); void *mi_malloc(size_t); void mi_free(void *);
__attribute__((noipa)) void destroyed(int i) {
    mi_heap_t *heap = mi_heap_new();
    void *blocks[2000];
    for (int i = 0; i < 2000; i++) {
        if (i % 4 == 0) blocks[i] = mi_heap_malloc(heap, 100);
        else if (i % 4 == 1) blocks[i] = mi_heap_calloc(heap, 4, 50);
        else if (i % 4 == 2) blocks[i] = mi_heap_malloc_aligned(heap, 64, 64);
        else blocks[i] = mi_heap_malloc(heap, i % 500 == 3 ? 300000 : 1000);
    }
    for (int i = 0; i < 2000; i += 4) mi_free(blocks[i]);
    mi_heap_destroy(heap);
}
__attribute__((noipa)) void deleted(void) {
    static void *blocks[100];
    mi_heap_t *heap = mi_heap_new();
    for (int i = 0; i < 100; i++) blocks[i] = mi_heap_malloc(heap, 24);
    for (int i = 0; i < 100; i++) blocks[i] = mi_heap_realloc(heap, blocks[i], 2400);
    mi_heap_delete(heap);
    for (int i = 50; i < 100; i++) mi_free(blocks[i]);
}
__attribute__((noipa)) void copied(void) {
    mi_heap_t *heap = mi_heap_new();
    char *one = mi_heap_strdup(heap, "eleven char"), *two = mi_strndup("a longer text", 3);
    two = mi_recalloc_aligned(two, 10, 10, 8);
    mi_free(one);
    mi_free(two);
    mi_heap_delete(heap);
}
int main(void) {
    mi_free(mi_malloc(10));
    for (int i = 0; i < 3; i++) destroyed(i);
    deleted();
    copied();
    return 0;
}"#;

#[test]
fn heaps_beside_each_other_are_recorded_with_their_ends() {
    for allocator in ["mimalloc", "mimalloc2"] {
        let folder = run::private_folder();
        let library = tool::static_allocator(allocator, "libmimalloc.a");
        let program = compile_text("cc", &[library.to_str().expect("a path")], HEAPS, folder.path(), "heaps");
        let recorded = Recording::new(folder.path()).verify(5).record(&program, &[]);
        assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
        let bytes = 500 * (100 + 200 + 64) + 496 * 1000 + 4 * 300_000;
        assert_eq!(recorded.below("destroyed"), [3 * 2000, 0, 3 * bytes], "{allocator}");
        assert_eq!(recorded.below("deleted"), [100, 100, 100 * (24 + 2400)], "{allocator}");
        assert_eq!(recorded.below("copied"), [2, 1, 12 + 4 + 100], "{allocator}");
        let report = recorded.report();
        let left = |function: &str| report.sum(|stack| stack.contains(&function)).live;
        assert_eq!([left("destroyed"), left("deleted"), left("copied")], [0, 50, 0], "{allocator}");
        assert_eq!((report.order.unknown_frees, report.order.implicit_frees), (0, 0), "{allocator}");
        assert_eq!(report.totals.allocations, 1 + 6000 + 100 + 2, "what a heap needs itself is no block");
        assert!(report.stacks.verified > 500 && report.stacks.verify_failed == 0, "{:?}", report.stacks);
        assert!(report.interception.blind_spots.is_empty(), "{:?}", report.interception.blind_spots);
    }
}

#[test]
fn the_end_of_a_heap_whose_blocks_cannot_be_found_is_named() {
    let folder = run::private_folder();
    let library = tool::static_allocator("mimalloc2", "libmimalloc.a");
    // The linker drops what is not called.
    let arguments = [library.to_str().expect("a path"), "-Wl,--gc-sections"];
    let program = compile_text("cc", &arguments, HEAPS, folder.path(), "heaps");
    let recorded = Recording::new(folder.path()).record(&program, &[]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let report = recorded.report();
    let said = format!("{:?}", report.interception.blind_spots);
    assert!(said.contains("were destroyed") && said.contains("-u,mi_heap_visit_blocks"), "{said}");
    assert_eq!(report.interception.blind_spots.len(), 1, "{said}");
    assert!(report.sum(|stack| stack.contains(&"destroyed")).live >= 1000, "{said}");
    assert_eq!(report.totals.allocations, 1 + 6000 + 100 + 2);
    assert_eq!(report.order.unknown_frees, 0);
    // What helps is true.
    let visited = [arguments[0], arguments[1], "-Wl,-u,mi_heap_visit_blocks"];
    let program = compile_text("cc", &visited, HEAPS, folder.path(), "visited");
    let recorded = Recording::new(folder.path()).record(&program, &[]);
    let report = recorded.report();
    assert!(report.interception.blind_spots.is_empty(), "{:?}", report.interception.blind_spots);
    assert_eq!(report.sum(|stack| stack.contains(&"destroyed")).live, 0);
}

/// It has its parent's functions, and asked for none itself.
#[test]
fn the_end_of_a_heap_in_a_forked_child_is_named() {
    let folder = run::private_folder();
    let library = tool::static_allocator("mimalloc2", "libmimalloc.a");
    let arguments = [library.to_str().expect("a path"), "-Wl,--gc-sections"];
    let in_child = "int fork(void); int wait(int *); if (fork()) return wait(0) < 0; destroyed(0); return 0;";
    let source = HEAPS.replace("    mi_free(mi_malloc(10));", in_child);
    let program = compile_text("cc", &arguments, &source, folder.path(), "forks");
    let recorded = Recording::new(folder.path()).record(&program, &[]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let report = recorded.report();
    assert_eq!(report.sum(|stack| stack.contains(&"destroyed")).blocks, 2000);
    let said = format!("{:?}", report.interception.blind_spots);
    assert!(said.contains("were destroyed"), "{said}");
}
