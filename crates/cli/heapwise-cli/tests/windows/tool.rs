//! Starting `heapwise`, and a program that uses the library.

#![expect(unsafe_code, reason = "crashes, and changes its own environment, as programs do")]

use serde_json::Value;
use std::process::{Command, Output};

/// `heapwise` in an environment that says nothing about heaps.
pub(crate) fn heapwise(arguments: &[&str]) -> Command {
    clean(Command::new(env!("CARGO_BIN_EXE_heapwise")), arguments)
}

/// Path of `heapwise`.
pub(crate) const HEAPWISE: &str = env!("CARGO_BIN_EXE_heapwise");

/// Runs in an empty folder: otherwise the doctor would find that this file sets the variable too late.
pub(crate) fn clean(mut command: Command, arguments: &[&str]) -> Command {
    let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/empty");
    std::fs::create_dir_all(folder).expect("a folder can be made");
    command.current_dir(folder).args(arguments).env_remove("_NO_DEBUG_HEAP").env_remove("HEAPWISE_QUIET");
    command
}

/// Runs a command to its end. Returns its exit code, its output and its errors.
pub(crate) fn finish(mut command: Command) -> (i32, String, String) {
    /// ERROR_INTERNAL_ERROR, by which Wine refuses now and then to start a process on a busy machine.
    const REFUSED: i32 = 1359;
    let mut output = command.output();
    for _ in 0..3 {
        match &output {
            Err(error) if error.raw_os_error() == Some(REFUSED) => {
                std::thread::sleep(std::time::Duration::from_secs(1));
                output = command.output();
            }
            _ => break,
        }
    }
    let Output { status, stdout, stderr } = output.expect("it can be started");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code().expect("there always is one"), text(stdout), text(stderr))
}

/// What `heapwise … doctor … --format json` found: id and severity of each finding, and the whole.
pub(crate) fn findings(command: Command) -> (i32, Vec<(String, String)>, Value) {
    let (code, output, errors) = finish(command);
    let json: Value =
        serde_json::from_str(&output).unwrap_or_else(|e| panic!("no JSON: {e}\n{output}\n{errors}"));
    let text = |finding: &Value, field: &str| finding[field].as_str().unwrap_or_default().to_owned();
    let found = json["findings"].as_array().expect("there is a list");
    let found = found.iter().map(|finding| (text(finding, "id"), text(finding, "severity"))).collect();
    (code, found, json)
}

/// The version of Wine, if this is no Windows.
pub(crate) fn wine() -> Option<String> {
    heapwise_environment::facts::windows::wine_version()
}

/// Set for a process that is this test program once more.
pub(crate) const INNER: &str = "HEAPWISE_TEST_INNER";

/// A program that uses the library: this one, with one test only.
pub(crate) fn program() -> [String; 4] {
    let own = std::env::current_exe().expect("a test knows its own file");
    [own.to_string_lossy().into_owned(), "--exact".into(), "tool::program_body".into(), "--nocapture".into()]
}

/// What that program does. Nothing, if it is one test among the others.
#[test]
fn program_body() {
    let Ok(what) = std::env::var(INNER) else { return };
    heapwise::warn_at_start();
    assert_ne!(what, "panic");
    if what == "crash" {
        // SAFETY: none; the access is meant to fail: nothing is ever mapped at this address.
        unsafe { std::ptr::without_provenance::<u8>(16).read_volatile() };
    }
    if what == "wait" {
        println!("pid {}", std::process::id());
        // Until the other process closes the pipe.
        let _ = std::io::stdin().read_line(&mut String::new());
        std::process::exit(0);
    }
    if what == "too late" {
        // SAFETY: no other thread of this process reads variables now.
        unsafe { std::env::set_var("_NO_DEBUG_HEAP", "1") };
    }
    let environment = heapwise::environment();
    println!("{environment}");
    std::process::exit(if environment.is_clean() { 0 } else { 3 });
}
