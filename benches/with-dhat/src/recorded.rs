//! Records a program with dhat-rs in its default mode.

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// The variable that says where the file goes.
const FILE: &str = "DHAT_RS_FILE";

/// Runs a program's `main` to its end and writes what it allocated.
pub(crate) fn recorded<T>(main: impl FnOnce() -> T) -> T {
    let file = std::env::var_os(FILE).unwrap_or_else(|| "dhat-heap.json".into());
    let _profiler = dhat::Profiler::builder().file_name(file).build();
    main()
}
