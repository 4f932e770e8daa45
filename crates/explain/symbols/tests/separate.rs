//! Debug information that is not in the file itself, or is there in another form.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Bench, address_of, build_id, functions, nowhere, open, resolve};
use heapwise_symbols::{DebugSearch, ErrorKind, ModuleSymbols, Svma, Warning, resolve_module};

/// An address in `outer` with two inlined calls, from the unstripped file.
fn inlined_address(path: &Path) -> u64 {
    let module = open(path);
    let start = address_of(path, "outer");
    let deepest = (start..start + 64).find(|address| resolve(&module, *address).len() == 3);
    deepest.expect("calls are inlined into outer")
}

#[track_caller]
fn expect_inlined(module: &ModuleSymbols, address: u64) {
    let frames = resolve(module, address);
    assert_eq!(functions(&frames), ["innermost", "middle", "outer"], "{module:?}");
    assert_eq!(frames.iter().map(|frame| frame.inlined).collect::<Vec<_>>(), [true, true, false]);
    for (frame, line) in frames.iter().zip([4, 5, 6]) {
        assert!(frame.file.as_ref().unwrap().ends_with("/poem.c"), "{frame:?}");
        assert_eq!(frame.line, Some(line));
    }
}

fn split(bench: &Bench, debug: &str) -> (PathBuf, u64) {
    let path = bench.c("poem", &["-g", "-O2"]);
    let address = inlined_address(&path);
    bench.write(debug, "");
    bench.run("objcopy", &["--only-keep-debug", "poem", debug]);
    bench.run("objcopy", &["--strip-all", &format!("--add-gnu-debuglink={debug}"), "poem"]);
    (path, address)
}

#[test]
fn a_debug_link_is_followed_beside_the_file() {
    let bench = Bench::new();
    let (path, address) = split(&bench, "poem.debug");
    let module = ModuleSymbols::open(&path, &build_id(&path), &nowhere()).unwrap();
    expect_inlined(&module, address);
    assert_eq!(
        module.debug_info().unwrap().canonicalize().unwrap(),
        bench.path("poem.debug").canonicalize().unwrap()
    );
    assert_eq!(module.warnings(), []);
}

#[test]
fn a_debug_link_is_followed_into_the_directory_below() {
    let bench = Bench::new();
    let (path, address) = split(&bench, ".debug/poem.debug");
    expect_inlined(&open(&path), address);
}

#[test]
fn a_debug_link_is_followed_below_a_root() {
    let bench = Bench::new();
    let (path, address) = split(&bench, "poem.debug");
    let root = Bench::new();
    let directory = path.canonicalize().unwrap().parent().unwrap().to_owned();
    let below = root.path(directory.strip_prefix("/").unwrap().join("poem.debug").to_str().unwrap());
    fs::create_dir_all(below.parent().unwrap()).unwrap();
    fs::rename(bench.path("poem.debug"), below).unwrap();

    assert_eq!(open(&path).debug_info(), None);
    let search = DebugSearch::new([root.path("")]);
    expect_inlined(&ModuleSymbols::open(&path, &[], &search).unwrap(), address);
}

#[test]
fn a_build_id_is_found_below_a_root() {
    let bench = Bench::new();
    let (path, address) = split(&bench, "poem.debug");
    let id: String = build_id(&path).iter().map(|byte| format!("{byte:02x}")).collect();
    let place = bench.path(&format!("root/.build-id/{}/{}.debug", &id[..2], &id[2..]));
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::rename(bench.path("poem.debug"), place).unwrap();
    let search = DebugSearch::new([bench.path("nothing"), bench.path("root")]);
    expect_inlined(&ModuleSymbols::open(&path, &build_id(&path), &search).unwrap(), address);
}

#[test]
fn without_build_ids_the_checksum_decides() {
    let bench = Bench::new();
    let path = bench.c("poem", &["-g", "-O2", "-Wl,--build-id=none"]);
    let address = inlined_address(&path);
    bench.run("objcopy", &["--only-keep-debug", "poem", "poem.debug"]);
    bench.run("objcopy", &["--strip-all", "--add-gnu-debuglink=poem.debug", "poem"]);
    expect_inlined(&open(&path), address);

    let mut damaged = fs::read(bench.path("poem.debug")).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(bench.path("poem.debug"), damaged).unwrap();
    let module = open(&path);
    assert_eq!(module.debug_info(), None);
    assert!(matches!(module.warnings(), [Warning::DebugFileMismatch { .. }]), "{module:?}");
}

#[test]
fn the_debug_file_of_another_build_is_refused() {
    let bench = Bench::new();
    let (path, address) = split(&bench, "poem.debug");
    bench.write("other.c", "int main(void) { return 3; }");
    bench.run("cc", &["-g", "-Wl,--build-id", "other.c", "-o", "poem.debug"]);
    let module = open(&path);
    assert!(matches!(module.warnings(), [Warning::DebugFileMismatch { .. }]), "{module:?}");
    assert!(resolve(&module, address)[0].is_unknown());
}

#[test]
fn a_replaced_file_is_an_error() {
    let bench = Bench::new();
    let path = bench.c("poem", &["-g"]);
    let mut expected = build_id(&path);
    assert!(ModuleSymbols::open(&path, &expected, &nowhere()).is_ok());
    expected[0] ^= 1;
    let error = ModuleSymbols::open(&path, &expected, &nowhere()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Replaced);
    let message = error.to_string();
    assert!(message.contains("poem: the file was replaced") && message.contains("found"), "{message}");

    let without = bench.c("without", &["-Wl,--build-id=none"]);
    let error = ModuleSymbols::open(&without, &[1, 2, 3], &nowhere()).unwrap_err();
    assert!(error.to_string().ends_with("expected build id 010203, found none"), "{error}");
}

#[test]
fn compressed_sections_are_read() {
    let bench = Bench::new();
    let address = inlined_address(&bench.c("plain", &["-g", "-O2"]));
    expect_inlined(&open(&bench.c("zlib", &["-g", "-O2", "-gz=zlib"])), address);
    bench.run("objcopy", &["--compress-debug-sections=zlib-gnu", "plain", "old"]);
    expect_inlined(&open(&bench.path("old")), address);
    // Not every toolchain knows this one.
    if bench.try_run("objcopy", &["--compress-debug-sections=zstd", "plain", "zstd"]) {
        expect_inlined(&open(&bench.path("zstd")), address);
    }
}

#[test]
fn a_supplementary_file_is_found_by_its_build_id() {
    let bench = Bench::new();
    let address = inlined_address(&bench.c("poem", &["-g", "-O2"]));
    bench.write("shared.c", "int shared(void) { return 3; }");
    bench.run("cc", &["-g", "-shared", "-Wl,--build-id", "shared.c", "-o", "shared.debug"]);
    let link = [b"shared.debug\0".as_slice(), &build_id(&bench.path("shared.debug"))].concat();
    fs::write(bench.path("link"), link).unwrap();
    bench.run("objcopy", &["--add-section=.gnu_debugaltlink=link", "poem", "linked"]);

    let module = open(&bench.path("linked"));
    assert_eq!(module.warnings(), []);
    expect_inlined(&module, address);

    bench.run("cc", &["-O2", "-g", "-shared", "-Wl,--build-id", "shared.c", "-o", "shared.debug"]);
    let module = open(&bench.path("linked"));
    assert!(
        matches!(
            module.warnings(),
            [Warning::DebugFileMismatch { .. }, Warning::SupplementaryMissing { .. }]
        ),
        "{module:?}"
    );
    expect_inlined(&module, address);
}

#[test]
fn split_dwarf_is_read_from_objects_and_packages() {
    let bench = Bench::new();
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        bench.write("poem.c", common::C);
        bench.run("cc", &["-c", "-g", version, "-O2", "-gsplit-dwarf", "poem.c"]);
        bench.run("cc", &["poem.o", "-o", "poem"]);
        let path = bench.path("poem");
        let address = inlined_address(&path);
        expect_inlined(&open(&path), address);

        // The tool of binutils 2.40 does not survive version 5.
        if version == "-gdwarf-4" && bench.try_run("dwp", &["-e", "poem", "-o", "poem.dwp"]) {
            fs::remove_file(bench.path("poem.dwo")).unwrap();
            expect_inlined(&open(&path), address);
            fs::remove_file(bench.path("poem.dwp")).unwrap();
        }
        let _ = fs::remove_file(bench.path("poem.dwo"));
        let frames = resolve(&open(&path), address);
        assert_eq!(functions(&frames), ["outer"], "lines and symbols remain");
        assert_eq!(frames[0].line, Some(4));
    }
}

#[test]
fn static_executables_are_read() {
    let bench = Bench::new();
    for (name, kind) in [("static", "-static"), ("static-pie", "-static-pie"), ("fixed", "-no-pie")] {
        let path = bench.c(name, &["-g", "-O2", kind]);
        let address = inlined_address(&path);
        expect_inlined(&open(&path), address);
    }
}

#[test]
fn symbols_serve_where_there_is_no_debug_information() {
    let bench = Bench::new();
    let path = bench.c("poem", &["-O2", "-rdynamic"]);
    let outer = address_of(&path, "outer");
    let check = |path: &Path, local: &str| {
        let module = open(path);
        for offset in [0, 1, 5] {
            let frames = resolve(&module, outer + offset);
            assert_eq!(functions(&frames), ["outer"]);
            assert_eq!((frames[0].line, frames[0].inlined), (None, false));
        }
        let local_address = address_of(&bench.path("poem"), "local_function");
        assert_eq!(functions(&resolve(&module, local_address + 2)), [local]);
    };
    check(&path, "local_function");
    bench.run("strip", &["-o", "stripped", "poem"]);
    check(&bench.path("stripped"), "?");
}

/// As glibc has them: the code has a reserved name, and programs call it by another one.
#[test]
fn a_function_has_the_name_by_which_programs_call_it() {
    let bench = Bench::new();
    bench.write(
        "library.c",
        "__attribute__((noinline)) int __sing_2_1(int n) { return n * 3; }\n\
         extern __typeof(__sing_2_1) sing __attribute__((alias(\"__sing_2_1\")));\n\
         __attribute__((noinline)) int __hum(int n) { return n * 5; }\n\
         __attribute__((noinline)) int plain(int n) { return n * 7; }\n\
         extern __typeof(plain) __plain_alias __attribute__((alias(\"plain\")));\n\
         int main(int n, char **v) { return __sing_2_1(n) + __hum(n) + plain(n); }\n",
    );
    for debug in ["-g", "-g0"] {
        bench.run("gcc", &[debug, "-O1", "-o", "library", "library.c"]);
        let path = bench.path("library");
        let module = open(&path);
        let name_at = |symbol| functions(&resolve(&module, address_of(&path, symbol)))[0].to_owned();
        let names = ["__sing_2_1", "sing", "__hum", "plain", "__plain_alias"].map(name_at);
        assert_eq!(names, ["sing", "sing", "__hum", "plain", "plain"], "{debug}");
    }
}

#[test]
fn nothing_is_known_of_addresses_outside() {
    let bench = Bench::new();
    let module = open(&bench.c("poem", &["-g"]));
    for address in [0, 1, 0x7fff_ffff_0000, u64::MAX - 1, u64::MAX] {
        let frames = resolve(&module, address);
        assert_eq!(frames.len(), 1);
        assert!(frames[0].is_unknown(), "{address:#x}: {frames:?}");
    }
}

#[test]
fn assembly_labels_without_size_have_names() {
    let bench = Bench::new();
    bench.write(
        "asm.s",
        ".text\n.globl main\nmain:\n nop\n nop\n ret\n.globl next_label\nnext_label:\n nop\n nop\n ret\n\
         .section .note.GNU-stack,\"\",@progbits\n",
    );
    bench.run("cc", &["asm.s", "-o", "asm"]);
    let path = bench.path("asm");
    let module = open(&path);
    let main = address_of(&path, "main");
    let names: Vec<_> =
        (0..6).map(|offset| functions(&resolve(&module, main + offset))[0].to_owned()).collect();
    assert_eq!(names, ["main", "main", "main", "next_label", "next_label", "next_label"]);
}

#[test]
fn rust_names_are_readable_in_both_schemes() {
    let bench = Bench::new();
    // The legacy scheme is what a stable compiler takes by default.
    let schemes: [(&str, &[&str]); 2] =
        [("legacy", &["-g", "-O"]), ("v0", &["-g", "-O", "-Csymbol-mangling-version=v0"])];
    for (name, arguments) in schemes {
        let path = bench.rust(name, arguments);
        let module = open(&path);
        let all: Vec<Vec<_>> =
            common::code_addresses(&path, 3).iter().map(|address| resolve(&module, *address)).collect();
        let own = |function: &str| {
            let wanted = format!("{name}::{function}");
            all.iter().flatten().any(|frame| frame.function.as_deref().is_some_and(|f| f.contains(&wanted)))
        };
        assert!(own("Poem") && own("main"));
        assert!(all.iter().any(|frames| frames.len() >= 4 && frames[0].inlined), "inlined frames");
        for frame in all.iter().flatten() {
            let function = frame.function.as_deref().unwrap_or_default();
            assert!(!function.starts_with("_R") && !function.starts_with("_ZN"), "{function}");
            assert!(
                !function.contains("::h0") || !function.ends_with(|c: char| c.is_ascii_hexdigit()),
                "{function}"
            );
        }
        assert!(
            all.iter().flatten().any(|f| f.file.as_deref().is_some_and(|file| file.starts_with("/rustc/")))
        );
    }
}

#[test]
fn a_batch_gives_every_address_in_order() {
    let bench = Bench::new();
    let path = bench.c("poem", &["-g", "-O2"]);
    let addresses: Vec<Svma> = common::code_addresses(&path, 1).into_iter().map(Svma).collect();
    let module = open(&path);
    let mut seen = Vec::new();
    let summary = resolve_module(&path, &build_id(&path), &addresses, &nowhere(), |address, frames| {
        assert_eq!(frames, module.resolve(address));
        seen.push(address);
    });
    let summary = summary.unwrap();
    assert_eq!(seen, addresses);
    assert_eq!(summary.n_addresses, addresses.len());
    assert!(summary.n_named >= summary.n_with_line / 2 && summary.n_with_line > 100, "{summary:?}");
    assert_eq!(summary.debug_info.as_deref(), Some(path.as_path()));
}

#[test]
fn a_file_without_lines_has_the_beginnings_of_its_functions() {
    let bench = Bench::new();
    let path = bench.c("poem", &["-O2", "-g"]);
    let (outer, main) = (address_of(&path, "outer"), address_of(&path, "main"));
    let with_lines = resolve(&open(&path), outer + 5);
    assert!(with_lines.iter().all(|frame| frame.start.is_none()), "it has lines: {with_lines:?}");
    for (option, names) in [("--strip-debug", [Some("outer"), Some("main")]), ("--strip-all", [None, None])] {
        bench.run("objcopy", &[option, "poem"]);
        let known = |address| {
            let frame = resolve(&open(&path), address).swap_remove(0);
            (frame.function, frame.start.map(|start| start.0))
        };
        let [of_outer, of_main] = names.map(|name| name.map(str::to_owned));
        assert_eq!(known(outer), (of_outer.clone(), Some(outer)));
        assert_eq!(known(outer + 5), (of_outer, Some(outer)));
        assert_eq!(known(main + 1), (of_main, Some(main)));
        assert_eq!(known(1), (None, None), "there is no code");
    }
    bench.run("objcopy", &["--remove-section", ".eh_frame_hdr", "poem"]);
    assert_eq!(resolve(&open(&path), outer)[0].start, None);
}

#[test]
fn mini_debug_information_names_functions_of_a_stripped_file() {
    if std::process::Command::new("xz").arg("--version").output().is_err() {
        return;
    }
    let bench = Bench::new();
    let path = bench.c("poem", &["-O2"]);
    let address = address_of(&path, "outer");
    bench.run("objcopy", &["--only-keep-debug", "poem", "mini"]);
    bench.run("xz", &["--keep", "mini"]);
    bench.run("objcopy", &["--strip-all", "poem"]);
    assert!(resolve(&open(&path), address)[0].is_unknown());
    bench.run("objcopy", &["--add-section", ".gnu_debugdata=mini.xz", "poem"]);
    assert_eq!(functions(&resolve(&open(&path), address)), ["outer"]);

    let mut damaged = fs::read(bench.path("mini.xz")).unwrap();
    damaged.truncate(damaged.len() / 2);
    fs::write(bench.path("mini.xz"), damaged).unwrap();
    bench.run("objcopy", &["--update-section", ".gnu_debugdata=mini.xz", "poem"]);
    assert!(resolve(&open(&path), address)[0].is_unknown(), "what cannot be read is left out");
}
