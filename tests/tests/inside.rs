//! Allocators inside of programs and libraries are recorded, although nothing can be put in front of them by name.
//!
//! What the programs did they say themselves: what is on top of their allocator has counted it.

use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::{run, tool};
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn a_global_allocator_in_c_is_recorded_without_a_wrapper() {
    for allocator in ["jemalloc", "mimalloc", "snmalloc"] {
        for profile in ["dev", "release"] {
            let program = tool::victim_wrapped(&format!("inside_{allocator}"), profile);
            let folder = run::private_folder();
            let recorded = Recording::new(folder.path()).verify(20).record(&program, &[]);
            assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
            let counted = recorded.outcome.counted();
            assert_eq!(
                recorded.of_program(&program),
                counted,
                "{allocator}, {profile}: recorded (left) and counted"
            );
            assert!(counted[0] > 10_000 && counted[1] > 1_000, "it has done its work twice");
            let report = recorded.report();
            assert_eq!(report.totals.lost_events, 0);
            assert_eq!(
                (report.order.unknown_frees, report.order.implicit_frees),
                (0, 0),
                "{allocator}, {profile}"
            );
            assert_eq!(report.interception.allocator, allocator);
            assert!(report.interception.blind_spots.is_empty(), "{:?}", report.interception.blind_spots);
            let stacks = &report.stacks;
            assert!(
                stacks.verified > 1_000 && stacks.verify_failed == 0,
                "{allocator}, {profile}: {stacks:?}"
            );
            assert_eq!(report.processes.len(), 2, "it has started itself once more");
        }
    }
}

fn static_jemalloc() -> PathBuf {
    tool::static_allocator("jemalloc", "lib/libjemalloc_pic.a")
}

/// Work in C with jemalloc's own functions: `COUNT` blocks, of which each third is resized, and all are freed. All are aligned to 64
/// bytes that go through `mallocx`.
const WORK: &str = r#"
#include <stddef.h>
#define COUNT 3000
void *_rjem_malloc(size_t); void *_rjem_mallocx(size_t, int); void *_rjem_rallocx(void *, size_t, int);
void *_rjem_calloc(size_t, size_t); void _rjem_sdallocx(void *, size_t, int); void _rjem_free(void *);
size_t _rjem_xallocx(void *, size_t, size_t, int); int _rjem_posix_memalign(void **, size_t, size_t);
__attribute__((noinline)) void work(void) {
    static void *blocks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        if (i % 3 == 0) blocks[i] = _rjem_malloc(100);
        else if (i % 3 == 1) blocks[i] = _rjem_mallocx(200, 6);
        else blocks[i] = _rjem_calloc(3, 100);
    }
    for (int i = 0; i < COUNT; i += 3) blocks[i] = _rjem_rallocx(blocks[i], 1000, 0);
    /* In place there is no room for so much more. */
    for (int i = 0; i < COUNT; i += 3) _rjem_xallocx(blocks[i], 1 << 20, 0, 0);
    for (int i = 0; i < COUNT; i++) {
        if (i % 3 == 0) _rjem_sdallocx(blocks[i], 1000, 0); else _rjem_free(blocks[i]);
    }
    void *aligned;
    if (_rjem_posix_memalign(&aligned, 256, 5000) == 0) _rjem_free(aligned);
}
"#;

/// What `work` has requested: calls of allocation functions, reallocations, and bytes of both.
const OF_WORK: [u64; 3] = [3001, 1000, 1000 * (100 + 200 + 300) + 1000 * 1000 + 5000];

fn compile(source: &str, folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let (file, output) = (folder.join(name).with_extension("c"), folder.join(name));
    std::fs::write(&file, source).expect("it can be written");
    let mut compiler = Command::new("cc");
    let status = compiler.args(["-O2", "-g", "-w", "-o"]).arg(&output).arg(&file).args(arguments).status();
    assert!(status.expect("there is a C compiler").success(), "{source}");
    output
}

#[test]
fn a_program_in_c_with_an_allocator_inside_is_recorded() {
    let folder = run::private_folder();
    let jemalloc = static_jemalloc();
    let source = format!("{WORK}\nint main() {{ work(); return 0; }}");
    let arguments = [jemalloc.to_str().expect("a path"), "-lpthread", "-ldl", "-lm"];
    let program = compile(&source, folder.path(), "own", &arguments);
    let recorded = Recording::new(folder.path()).verify(5).record(&program, &[]);
    assert_eq!(recorded.below("work"), OF_WORK, "{}", recorded.outcome.stderr);
    let report = recorded.report();
    assert_eq!(report.interception.allocator, "jemalloc");
    assert!(report.stacks.verified > 500 && report.stacks.verify_failed == 0, "{:?}", report.stacks);
    assert_eq!((report.order.unknown_frees, report.order.implicit_frees), (0, 0));
}

/// With functions that the C library does not have, which nothing can be put in front of by name.
const BESIDE: &str = r#"
#include <stdlib.h>
void *mallocx(size_t, int) __attribute__((weak));
static void *volatile kept[3000];
int main(void) {
    for (int i = 0; i < 2000; i++) kept[i] = malloc(100);
    for (int i = 2000; mallocx && i < 3000; i++) kept[i] = mallocx(200, 0);
    return mallocx ? 0 : 3;
}
"#;

/// A library that has such a function beside the C library's. It never reuses anything.
const LIBRARY: &str = r#"
#include <stddef.h>
static char room[64 << 20] __attribute__((aligned(64)));
static size_t used;
void *malloc(size_t n) { size_t at = __atomic_fetch_add(&used, (n + 63) & -64, __ATOMIC_RELAXED); return at + n < sizeof room ? room + at : 0; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *old, size_t n) {
    char *new = malloc(n), *from = old;
    for (size_t i = 0; new && from && i < n && from + i < room + sizeof room; i++) new[i] = from[i];
    return new;
}
void free(void *block) { (void)block; }
int posix_memalign(void **out, size_t align, size_t n) { return (*out = malloc(n + align)) ? 0 : 12; }
void *aligned_alloc(size_t align, size_t n) { return align <= 64 ? malloc(n) : 0; }
void *memalign(size_t align, size_t n) { return aligned_alloc(align, n); }
void *mallocx(size_t n, int flags) { (void)flags; return malloc(n + 1); }
"#;

#[test]
fn a_library_in_front_of_the_c_librarys_is_one_allocator_with_all_its_functions() {
    let folder = run::private_folder();
    let program = compile(BESIDE, folder.path(), "beside", &[]);
    let library = compile(LIBRARY, folder.path(), "libown.so", &["-shared", "-fPIC", "-fno-builtin"]);
    let recording = Recording::new(folder.path()).variable("LD_PRELOAD", library.to_str().expect("a path"));
    let recorded = recording.record(&program, &[]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let report = recorded.report();
    assert!(
        report.totals.allocations >= 3000 && report.totals.allocated_bytes >= 400_000,
        "{:?}",
        report.totals
    );
    assert_eq!(report.memory.allocators, []);
    assert!(report.interception.inside.is_empty(), "{:?}", report.interception.inside);
}

/// As an extension of an interpreter does: the library is loaded, works with its own allocator, is unloaded, and loaded once more.
/// One place that has blocks of two allocators: 2,000 of the C library, which stay, and 1,000 of jemalloc, of which half stay at another
/// size.
const TWO: &str = r#"
#include <stdlib.h>
#include <string.h>
void *_rjem_malloc(size_t); void *_rjem_realloc(void *, size_t); void _rjem_free(void *);
static void *ours[2000], *theirs[1000];
__attribute__((noinline)) void *get(void *(*from)(size_t), size_t n) { void *p = from(n); return p ? memset(p, 1, n) : p; }
int main(void) {
    for (int i = 0; i < 3000; i++) {
        void *block = get(i < 2000 ? malloc : _rjem_malloc, i < 2000 ? 1500 : 700);
        if (i < 2000) ours[i] = block; else theirs[i - 2000] = block;
    }
    for (int i = 0; i < 1000; i++) {
        if (i % 2) _rjem_free(theirs[i]); else theirs[i] = _rjem_realloc(theirs[i], 3000);
    }
    return 0;
}
"#;

#[test]
fn each_of_several_allocators_has_its_part_of_the_accounts() {
    let folder = run::private_folder();
    let library = static_jemalloc();
    let arguments = [library.to_str().expect("a path"), "-lpthread", "-ldl", "-lm"];
    let program = compile(TWO, folder.path(), "two", &arguments);
    let recorded = Recording::new(folder.path()).record(&program, &[]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let report = recorded.report();
    let [ours, theirs] = report.memory.allocators.as_slice() else {
        panic!("{:?}", report.memory.allocators)
    };
    assert_eq!((ours.file.as_deref(), theirs.allocator.as_deref()), (None, Some("jemalloc")));
    assert!(ours.name.starts_with("glibc") && theirs.name == "jemalloc in two", "{ours:?}, {theirs:?}");
    assert_eq!(
        (theirs.allocations, theirs.live_at_exit_blocks, theirs.live_at_exit_bytes),
        (1000, 500, 1_500_000)
    );
    assert!(ours.live_at_exit_bytes >= 3_000_000 && ours.allocations >= 2000, "{ours:?}");
    // All together they are the whole.
    let totals = &report.totals;
    let both = |number: fn(&heapwise_tests::report::OfAllocator) -> u64| number(ours) + number(theirs);
    assert_eq!(both(|of| of.allocations), totals.allocations);
    assert_eq!(both(|of| of.allocated_bytes), totals.allocated_bytes);
    assert_eq!(both(|of| of.peak_live_bytes), totals.peak_live_bytes);
    assert_eq!(both(|of| of.live_at_exit_bytes), totals.live_at_exit_bytes);
    let end = report.memory.at_end.expect("pages were looked at");
    assert_eq!(both(|of| of.at_end.live_bytes), end.live_bytes);
    assert_eq!(both(|of| of.at_end.internal_fragmentation_bytes), end.internal_fragmentation_bytes);
    assert_eq!(both(|of| of.at_end.external_fragmentation_bytes), end.external_fragmentation_bytes);
    assert_eq!(both(|of| of.at_end.free_pages_bytes), end.free_pages_bytes);
    assert_eq!(both(|of| of.at_end.metadata_bytes), end.metadata_bytes);
    assert_eq!(theirs.at_end.live_bytes, 1_500_000, "each page of it was written to");
    // Blocks of 3,000 bytes have 3,072 in each jemalloc with a quantum of 16 bytes.
    assert_eq!(theirs.at_end.internal_fragmentation_bytes, 500 * 72);
    let measured = [ours, theirs].map(|of| of.block_sizes_of.as_deref().unwrap_or_default());
    assert!(measured[0].contains("libc.so") && measured[1] == "its own _rjem_nallocx", "{measured:?}");
    assert!(report.memory.knows_block_sizes);
    // The program has jemalloc inside, and most of what is live is the C library's: a replay begins with that.
    assert!(ours.peak_live_bytes > theirs.peak_live_bytes);
    let replayed = replay(&recorded, folder.path(), &[]);
    assert_eq!(replayed["candidates"][0]["candidate"], "glibc", "{replayed}");
    assert!(replayed["caveats"].to_string().contains("several allocators"), "{}", replayed["caveats"]);
    let mut of_get = report.sites.iter().filter(|site| site.allocations >= 1000);
    assert_eq!(of_get.next().map(|site| site.allocations), Some(3000), "it is one place");
}

/// Has 3 MB of blocks of jemalloc, and frees them all; what it has of the C library stays.
const FREED: &str = r#"
#include <stdlib.h>
#include <string.h>
void *_rjem_malloc(size_t); void _rjem_free(void *);
static void *ours[100], *theirs[4000];
int main(void) {
    for (int i = 0; i < 100; i++) memset(ours[i] = malloc(1500), 1, 1500);
    for (int i = 0; i < 4000; i++) memset(theirs[i] = _rjem_malloc(768), 1, 768);
    for (int i = 0; i < 4000; i++) _rjem_free(theirs[i]);
    return 0;
}
"#;

#[test]
fn free_pages_are_those_of_the_allocator_that_had_blocks_there() {
    let folder = run::private_folder();
    let library = static_jemalloc();
    let arguments = [library.to_str().expect("a path"), "-lpthread", "-ldl", "-lm"];
    let program = compile(FREED, folder.path(), "freed", &arguments);
    let recorded = Recording::new(folder.path()).record(&program, &[]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let memory = &recorded.report().memory;
    let free = |name: Option<&str>| {
        let of = memory.allocators.iter().find(|of| of.allocator.as_deref() == name);
        of.unwrap_or_else(|| panic!("{:?}", memory.allocators)).at_end.free_pages_bytes
    };
    let (ours, theirs) = (free(None), free(Some("jemalloc")));
    assert!(theirs > 2_900_000 && ours < 300_000, "{ours} and {theirs}");
}

/// The JSON of a replay with the allocator that the program had.
fn replay(recorded: &Recorded, folder: &Path, arguments: &[&str]) -> serde_json::Value {
    let mut command = run::command(tool::heapwise(), folder);
    command.arg("replay").arg(&recorded.file).args(["--with", "default", "-n", "1", "--format", "json"]);
    let replayed = run::finish(command.args(arguments), folder, "replay").text();
    serde_json::from_str(&replayed).unwrap_or_else(|error| panic!("{error}: {replayed}"))
}

#[test]
fn a_replay_begins_with_the_main_allocator_of_its_process() {
    let folder = run::private_folder();
    let program = compile(OTHER_SIZES, folder.path(), "other", &[]);
    let name = program.to_string_lossy().into_owned();
    let recorded = Recording::new(folder.path()).record("sh", &["-c", &format!("{name}; true")]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let processes = &recorded.report().processes;
    let begins_with = |program: &str| {
        let process = processes.iter().find(|process| process.command[0] == program).expect("it is recorded");
        let replayed = replay(&recorded, folder.path(), &["--pid", &process.pid.to_string()]);
        replayed["candidates"][0]["candidate"].as_str().expect("a name").to_owned()
    };
    // Most of what both have live is jemalloc's.
    assert_eq!([begins_with("sh"), begins_with(&name)], ["glibc", "jemalloc"]);
}

/// Has an allocator with jemalloc's names and other sizes, as builds with `--with-lg-quantum=3` have.
const OTHER_SIZES: &str = r#"
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
static char *next, *end;
__attribute__((noinline)) void *own_mallocx(size_t size, int flags) {
    size = (size + 7) & ~(size_t)7;
    if (!next || next + size > end) {
        next = mmap(NULL, 1 << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        end = next + (1 << 22);
    }
    char *block = next;
    next += size;
    return flags & 0x40 ? memset(block, 0, size) : block;
}
__attribute__((noinline)) void own_dallocx(void *block, int flags) {
    if (flags & 1) memset(block, 0, 8);
    *(volatile char *)block = 1;
}
int main() {
    for (int i = 0; i < 10000; i++) memset(own_mallocx(20, 0), i, 20);
    void *one = own_mallocx(100, 0);
    own_dallocx(one, 0);
    return 0;
}"#;

#[test]
fn sizes_of_another_build_that_the_blocks_contradict_are_not_believed() {
    let folder = run::private_folder();
    let program = compile(OTHER_SIZES, folder.path(), "other", &[]);
    let recorded = Recording::new(folder.path()).record(&program, &[]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let memory = &recorded.report().memory;
    let of = memory.allocators.iter().find(|of| of.allocator.as_deref() == Some("jemalloc"));
    let of = of.unwrap_or_else(|| panic!("{:?}", memory.allocators));
    assert_eq!((of.allocations, of.at_end.live_bytes), (10_001, 200_000));
    assert_eq!((of.block_sizes_of.as_deref(), of.at_end.internal_fragmentation_bytes), (None, 0));
    assert!(!memory.knows_block_sizes);
    let mut command = run::command(tool::heapwise(), folder.path());
    let text = run::finish(command.arg("report").arg(&recorded.file), folder.path(), "report").text();
    assert!(text.contains("(they are not those of jemalloc 5"), "{text}");
}

/// Has the names of Google's tcmalloc, and what a crate for Rust makes of it. A block that is to be larger than 64 bytes moves, and what
/// calls for that frees the old one.
const GOOGLES: &str = r#"
#include <stddef.h>
#include <string.h>
static char room[64 << 20] __attribute__((aligned(64)));
static size_t used;
#define PUBLIC __attribute__((noipa))
PUBLIC void *TCMallocInternalNew(size_t n) { void *p = room + used; used += (n + 63) & ~63ul; return p; }
PUBLIC void *BridgeTCMallocInternalNewAlignedNothrow(size_t n, size_t align) { (void)align; return TCMallocInternalNew(n); }
PUBLIC void TCMallocInternalDeleteSizedAligned(void *p, size_t n, size_t align) { memset(p, 0, n); (void)align; }
PUBLIC void *BridgePrepareReallocAligned(void *p, size_t n, size_t align, size_t *old) {
    if (n <= 64) return p;
    *old = 64;
    return TCMallocInternalNew(n + 0 * align);
}
PUBLIC void work(void) {
    for (int i = 0; i < 1000; i++) {
        size_t old = 0;
        char *p = BridgeTCMallocInternalNewAlignedNothrow(20, 8);
        p = BridgePrepareReallocAligned(p, 50, 8, &old);
        char *q = BridgePrepareReallocAligned(p, 100, 8, &old);
        memcpy(q, p, old);
        TCMallocInternalDeleteSizedAligned(p, 50, 8);
        TCMallocInternalDeleteSizedAligned(q, 100, 8);
    }
}
int main() { work(); return 0; }
"#;

#[test]
fn googles_tcmalloc_is_recorded_by_its_names() {
    let folder = run::private_folder();
    let program = compile(GOOGLES, folder.path(), "googles", &[]);
    let recorded = Recording::new(folder.path()).verify(5).record(&program, &[]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    // A block that moves is another one.
    assert_eq!(recorded.below("work"), [2000, 1000, 1000 * (20 + 50 + 100)]);
    let report = recorded.report();
    assert_eq!(report.interception.allocator, "tcmalloc-google");
    assert_eq!((report.order.unknown_frees, report.order.implicit_frees), (0, 0));
    let left =
        report.sites.iter().filter(|site| site.allocations >= 1000).map(|site| site.live_at_exit_blocks);
    assert_eq!(left.sum::<u64>(), 0);
    assert!(report.stacks.verified > 100 && report.stacks.verify_failed == 0, "{:?}", report.stacks);
}

#[test]
fn sizes_that_the_allocator_says_itself_hold() {
    let folder = run::private_folder();
    let says =
        "size_t own_nallocx(size_t size, int flags) { (void)flags; return (size + 7) & ~(size_t)7; }\n";
    let source = OTHER_SIZES.replace("int main()", &format!("{says}int main()"));
    let program = compile(&source, folder.path(), "other", &[]);
    let recorded = Recording::new(folder.path()).record(&program, &[]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let memory = &recorded.report().memory;
    let of = memory.allocators.iter().find(|of| of.allocator.as_deref() == Some("jemalloc"));
    let of = of.unwrap_or_else(|| panic!("{:?}", memory.allocators));
    assert_eq!((of.allocations, of.at_end.live_bytes), (10_001, 200_000));
    assert_eq!(of.block_sizes_of.as_deref(), Some("its own own_nallocx"));
    assert_eq!(of.at_end.internal_fragmentation_bytes, 10_000 * 4, "20 bytes have 24");
    assert!(memory.knows_block_sizes);
}

#[test]
fn a_library_that_is_loaded_late_is_recorded_with_its_allocator() {
    let folder = run::private_folder();
    let jemalloc = static_jemalloc();
    let arguments =
        ["-shared", "-fPIC", jemalloc.to_str().expect("a path"), "-Wl,--exclude-libs,ALL", "-lpthread"];
    let library = compile(WORK, folder.path(), "late.so", &arguments);
    let main = format!(
        r#"
#include <dlfcn.h>
int main() {{
    for (int i = 0; i < 2; i++) {{
        void *library = dlopen("{}", RTLD_NOW);
        if (!library) return 1;
        ((void (*)(void))dlsym(library, "work"))();
        /* Another one, without an allocator: what is there already stays as it is. */
        if (!dlopen(i ? "libresolv.so.2" : "libutil.so.1", RTLD_NOW)) return 2;
    }}
    return 0;
}}"#,
        library.display()
    );
    let program = compile(&main, folder.path(), "late", &["-ldl"]);
    // This build of jemalloc has its thread-local data in the static block, which has room for what is loaded late if asked to.
    let room = ("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=16384");
    let recorded = Recording::new(folder.path()).verify(5).variable(room.0, room.1).record(&program, &[]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    assert_eq!(recorded.below("work"), OF_WORK.map(|n| 2 * n));
    let report = recorded.report();
    let inside: Vec<_> =
        report.interception.inside.iter().map(|one| (one.allocator.as_deref(), &*one.file)).collect();
    assert_eq!(inside, [(Some("jemalloc"), &*library.to_string_lossy())]);
    let functions = report.interception.inside[0].functions;
    assert!((6..=16).contains(&functions), "each function is entered once: {functions}");
    assert!(report.interception.blind_spots.is_empty(), "{:?}", report.interception.blind_spots);
    assert!(report.interception.allocator.contains("libc.so"), "the program's is the C library's");
    assert_eq!(report.stacks.verify_failed, 0);
    // No candidate of a comparison comes in its place, which is said.
    let mut compare = run::command(tool::heapwise(), folder.path());
    compare.env(room.0, room.1).args(["compare", "--runs", "1", "--with", "snmalloc", "--format", "json"]);
    let compared = run::finish(compare.arg(&program), folder.path(), "compare");
    assert_eq!(compared.code(), 0, "{}", compared.stderr);
    let compared: serde_json::Value = serde_json::from_slice(&compared.stdout).expect("JSON");
    let notes: Vec<_> = compared["notes"].as_array().into_iter().flatten().map(ToString::to_string).collect();
    let of_library = format!("inside of libraries: {} (jemalloc)", library.display());
    assert_eq!(notes.iter().filter(|note| note.contains(&of_library)).count(), 1, "{notes:?}");
}

/// A compiler that sees a function and its callers keeps values in registers that the function leaves alone, although it might use
/// them by the calling convention.
#[test]
fn callers_that_rely_on_registers_of_their_own_malloc_find_them() {
    let source = r#"
#include <stddef.h>
#include <stdio.h>
static char room[8 << 20];
static size_t used;
__attribute__((noinline)) void *malloc(size_t n) { void *p = room + used; used += (n + 15) & ~15ul; return p; }
__attribute__((noinline)) void free(void *p) { __asm__ volatile("" : : "r"(p)); }
__attribute__((noinline)) static double mix(unsigned long a, unsigned long b, unsigned long c, double x, double y) {
    unsigned long d = a ^ b, e = b ^ c, f = c ^ a, g = a + b + c, h = a * b;
    double z = x + y, w = x - y, v = x * y;
    for (int i = 0; i < 1000; i++) {
        char *p = malloc(24);
        a += d * 3; b ^= e + a; c += f ^ b; d -= g; e += h; f ^= a; g += c; h ^= d;
        free(p);
        x = x * 0.999 + y; y = y * 0.5 + z; z -= w * 0.001; w += v * 0.01; v = v * 0.99 + x;
    }
    return x + y + z + w + v + (double)(a ^ b ^ c ^ d ^ e ^ f ^ g ^ h);
}
int main(void) {
    printf("%.17g\n", mix(1, 2, 3, 4.5, 5.5));
    return 0;
}"#;
    let folder = run::private_folder();
    let program = compile(source, folder.path(), "registers", &["-fno-builtin", "-rdynamic", "-fipa-ra"]);
    let mut alone = run::command(&program, folder.path());
    let alone = run::finish(&mut alone, folder.path(), "alone").text();
    let recorded = Recording::new(folder.path()).verify(1).record(&program, &[]);
    assert_eq!(recorded.outcome.text(), alone);
    let report = recorded.report();
    assert_eq!(report.sum(|stack| stack.contains(&"mix")).blocks, 1000);
    assert_eq!(report.stacks.verify_failed, 0);
}

/// A call of the allocator that ends by a jump out of it, as by an exception, leaves nothing behind that hides the calls after it.
#[test]
fn calls_after_one_that_was_left_by_a_jump_are_recorded() {
    let source = r#"
#include <setjmp.h>
#include <stddef.h>
#include <string.h>
static char room[8 << 20];
static size_t used;
static jmp_buf out;
__attribute__((noipa)) void *malloc(size_t n) {
    if (n == 77) longjmp(out, 1);
    void *p = room + used;
    used += (n + 15) & ~15ul;
    return p;
}
__attribute__((noipa)) void free(void *p) { (void)p; }
__attribute__((noipa)) static void leave(void) { free(malloc(77)); }
__attribute__((noipa)) static void after(int depth) {
    volatile char local[512];
    memset((char *)local, depth, sizeof local);
    if (depth > 0) { after(depth - 1); return; }
    for (int i = 0; i < 1000; i++) free(malloc(24));
}
int main(void) {
    free(malloc(10));
    if (!setjmp(out)) leave();
    after(20);
    return 0;
}"#;
    let folder = run::private_folder();
    let program = compile(source, folder.path(), "left", &["-fno-builtin", "-rdynamic"]);
    let recorded = Recording::new(folder.path()).verify(1).record(&program, &[]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let report = recorded.report();
    assert_eq!(report.sum(|stack| stack.contains(&"after")).blocks, 1000);
    assert_eq!((report.order.implicit_frees, report.stacks.verify_failed), (0, 0));
}
