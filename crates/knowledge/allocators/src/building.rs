//! How allocators are built from their crates: each as a library to preload, with the profile of its workspace, in half the time.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the names of variables begin that change a profile.
const PROFILES: &str = "CARGO_PROFILE_";

/// For `make`, as jemalloc's Makefile understands it: no objects for the library that nothing links (its crate links the one with
/// position-independent code), and no debug information, which is removed from what heapwise carries. Measured on two cores: 54 s
/// without, 26 s with it.
const MAKE_FLAGS: &str = " -- C_OBJS= CPP_OBJS= EXTRA_CFLAGS=-g0";

/// What builds an allocator of the workspace `allocators/` in a project's folder, and the library that comes out.
///
/// Each has a folder in `target`, and is built alone: cargo would unite the features of those that are the same crate. Without a
/// `triple` it is built for this machine.
pub fn library(project: &Path, target: &Path, name: &str, triple: Option<&str>) -> (Command, PathBuf) {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--release", "-p", name]);
    cargo.arg("--manifest-path").arg(project.join("allocators/Cargo.toml"));
    let mut built = target.join(name);
    cargo.arg("--target-dir").arg(&built);
    if let Some(triple) = triple {
        cargo.args(["--target", triple]);
        built.push(triple);
    }
    build_quickly(keep_profile(&mut cargo));
    built.push(format!("release/lib{}.so", name.replace('-', "_")));
    (cargo, built)
}

/// Has a command of cargo take profiles as they are written, whatever variables would change in them: an allocator without `lto` is a
/// library that no program can load.
pub fn keep_profile(cargo: &mut Command) -> &mut Command {
    without_profiles(cargo, std::env::vars_os().map(|(name, _)| name))
}

fn without_profiles(cargo: &mut Command, names: impl Iterator<Item = OsString>) -> &mut Command {
    let of_profiles = names.filter(|name| name.to_string_lossy().starts_with(PROFILES));
    of_profiles.fold(cargo, |cargo, name| cargo.env_remove(name))
}

/// Has build scripts that a command of cargo runs build no more of an allocator than is linked. Flags that the user has chosen for
/// `make` stay, and are handed on to a command that inherits nothing.
pub fn build_quickly(cargo: &mut Command) -> &mut Command {
    cargo.env("MAKEFLAGS", std::env::var_os("MAKEFLAGS").unwrap_or_else(|| MAKE_FLAGS.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_built_alone_in_a_folder_of_its_own() {
        let built = |triple| library(Path::new("/p"), Path::new("/t"), "tcmalloc-google", triple).1;
        assert_eq!(built(None), Path::new("/t/tcmalloc-google/release/libtcmalloc_google.so"));
        let other = built(Some("aarch64-unknown-linux-gnu"));
        assert_eq!(
            other,
            Path::new("/t/tcmalloc-google/aarch64-unknown-linux-gnu/release/libtcmalloc_google.so")
        );
        let (cargo, _) = library(Path::new("/p"), Path::new("/t"), "mimalloc", None);
        let words: Vec<_> = cargo.get_args().collect();
        assert!(words.ends_with(&["--target-dir".as_ref(), "/t/mimalloc".as_ref()]), "{words:?}");
    }

    #[test]
    fn a_command_that_inherits_nothing_is_handed_the_flags_for_make() {
        let mut cargo = Command::new("cargo");
        build_quickly(cargo.env_clear());
        let flags = cargo.get_envs().find(|(name, _)| *name == "MAKEFLAGS").and_then(|(_, flags)| flags);
        let expected = std::env::var_os("MAKEFLAGS").unwrap_or_else(|| MAKE_FLAGS.into());
        assert_eq!(flags, Some(&*expected));
    }

    #[test]
    fn variables_of_profiles_are_kept_away_and_others_are_not() {
        let mut cargo = Command::new("cargo");
        let names =
            ["CARGO_PROFILE_RELEASE_LTO", "CARGO_HOME", "CARGO_PROFILE_DEV_DEBUG"].map(OsString::from);
        let cargo = without_profiles(&mut cargo, names.into_iter());
        let gone: Vec<_> = cargo.get_envs().collect();
        let expected = ["CARGO_PROFILE_DEV_DEBUG", "CARGO_PROFILE_RELEASE_LTO"];
        assert_eq!(gone, expected.map(|name| (name.as_ref(), None)));
    }
}
