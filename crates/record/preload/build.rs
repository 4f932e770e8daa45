//! Links the preload library so that anything missing is an error here and not in a process that loads it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // An undefined symbol would only show when the library is loaded.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,defs");
    // All symbols are bound before the program starts: no lazy binding inside malloc.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,now");
    println!("cargo::rustc-link-arg-cdylib=-Wl,--build-id");
    println!("cargo::rustc-link-lib=c");
}
