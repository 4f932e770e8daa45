//! Has libstdc++ linked into the library, instead of loaded with it: a program that has no C++ would load it for the
//! allocator's sake, and its pages would count as the allocator's.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CXX");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it for build scripts"));
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let output = Command::new(&compiler).arg("-print-file-name=libstdc++.a").output();
    let output = output.unwrap_or_else(|e| panic!("cannot run {}: {e}", compiler.display()));
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    // A compiler that has none says the bare name.
    assert!(Path::new(&path).is_absolute(), "{} has no libstdc++.a", compiler.display());
    // The crate with the C++ asks for `-lstdc++`, and the linker takes what is in the first folder that has one.
    let link = out.join("libstdc++.a");
    // It may be there from before, of another compiler.
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(&path, &link)
        .unwrap_or_else(|e| panic!("cannot link {}: {e}", link.display()));
    println!("cargo::rustc-link-search=native={}", out.display());
    // What libstdc++ needs to unwind, which would otherwise be looked up in a library that is not loaded.
    println!("cargo::rustc-link-lib=gcc_eh");
    println!("cargo::rustc-link-lib=m");
}
