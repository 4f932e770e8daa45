//! Any bytes as an executable and as a module with symbols.

#![no_main]

use heapwise_symbols::inspect::inspect;
use heapwise_symbols::{DebugSearch, ModuleSymbols, Svma};
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use std::sync::LazyLock;

/// A file in memory where there is such a folder: the crate maps files, so it must be given one.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    folder.join(format!("heapwise-fuzz-inspect.{}", std::process::id()))
});

fuzz_target!(|bytes: &[u8]| {
    // A script names a file of this machine, which says nothing about this input.
    if bytes.starts_with(b"#!") {
        return;
    }
    // A separate file each time: rewriting one that is mapped would end this process.
    let _ = std::fs::remove_file(&*FILE);
    std::fs::write(&*FILE, bytes).expect("there is room for one small file");
    if let Ok(program) = inspect(&FILE, None) {
        let _ = format!("{program:?}");
    }
    if let Ok(plan) =
        heapwise_symbols::entry_points::plan(&FILE, heapwise_trace::live::plan::InFront::Nothing)
    {
        assert!(plan.planned.iter().all(|planned| planned.hook.is_sound()));
    }
    let _ = heapwise_symbols::frame_table::of(&FILE);
    // Without roots, so that nothing that happens to be installed takes part.
    let search = DebugSearch::new(std::iter::empty::<PathBuf>());
    if let Ok(module) = ModuleSymbols::open(&FILE, &[], &search) {
        for svma in [0, 1, 0x1000, 0x1010, 0x1139, 0x40_1000, u64::MAX - 1, u64::MAX] {
            let frames = module.resolve(Svma(svma));
            assert!(!frames.is_empty(), "there is always a frame, if only one without a name");
        }
        let _ = format!("{:?}", module.warnings());
    }
    let _ = std::fs::remove_file(&*FILE);
});
