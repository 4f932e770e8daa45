//! Links the preload library so that anything missing is an error here and not in a process that loads it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // An undefined symbol would only show when the library is loaded.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,defs");
    // All symbols are bound before the program starts: no lazy binding inside malloc.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,now");
    println!("cargo::rustc-link-arg-cdylib=-Wl,--build-id");
    if std::env::var_os("CARGO_FEATURE_IMAGE").is_none() {
        println!("cargo::rustc-link-lib=c");
        return;
    }
    // Nothing but its own code, which begins at its only function; what refers to itself needs no loader.
    for option in ["-nostdlib", "-Wl,-Bsymbolic", "-Wl,--entry=heapwise_image_start", "-Wl,-z,norelro"] {
        println!("cargo::rustc-link-arg-cdylib={option}");
    }
}
