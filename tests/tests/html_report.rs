//! The HTML report from the command line: where it goes, and what is in it. What a browser makes of it is tested in
//! `web/browser`.

use heapwise_tests::{programs, run, tool};
use std::path::Path;
use std::process::Command;

fn heapwise(folder: &Path, arguments: &[&str]) -> run::Outcome {
    run::finish(run::command(tool::heapwise(), folder).args(arguments), folder, "heapwise")
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn a_run_writes_the_page_beside_the_recording_and_replaces_none() {
    let folder = run::private_folder();
    let line = ["run", "-o", "a.hw", "--format", "html", "--", "ls", "/"];
    let outcome = heapwise(folder.path(), &line);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("heapwise: report in a.html; open it with a browser"),
        "{}",
        outcome.stderr
    );
    assert!(!outcome.stderr.contains("<html"), "nothing of it goes to the terminal");
    let page = read(folder.path(), "a.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("<title>ls / · heapwise</title>"));
    assert!(page.contains("Content-Security-Policy") && !page.contains("http://") && !page.contains("src="));

    std::fs::remove_file(folder.path().join("a.hw")).expect("it is there");
    std::fs::write(folder.path().join("a.html"), "precious").expect("a file can be written");
    let outcome =
        heapwise(folder.path(), &["run", "-o", "a.hw", "--format", "html", "--", "touch", "was-run"]);
    assert_eq!(outcome.code(), 125);
    assert!(outcome.stderr.contains("a.html exists; replace it with --force"), "{}", outcome.stderr);
    assert_eq!(read(folder.path(), "a.html"), "precious");
    assert!(!folder.path().join("was-run").exists(), "the program was run in vain");
    let outcome = heapwise(folder.path(), &[&["run", "--force"], &line[1..]].concat());
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(read(folder.path(), "a.html").starts_with("<!doctype html>"));
}

#[test]
fn a_recording_is_not_taken_for_the_page() {
    let folder = run::private_folder();
    let outcome =
        heapwise(folder.path(), &["run", "-o", "a.html", "--format", "html", "--", "touch", "was-run"]);
    assert_eq!(outcome.code(), 2);
    assert!(outcome.stderr.contains("--report-file"), "{}", outcome.stderr);
    assert!(!folder.path().join("was-run").exists());
}

#[test]
fn a_page_is_not_written_to_a_terminal() {
    let Some(script) = programs::find("script") else { return };
    let folder = run::private_folder();
    assert_eq!(heapwise(folder.path(), &["run", "--no-report", "-o", "a.hw", "--", "ls", "/"]).code(), 0);
    let line = format!("'{}' report a.hw --format html", tool::heapwise().display());
    let mut command = run::command(script, folder.path());
    let outcome = run::finish(command.args(["-qec", &line, "/dev/null"]), folder.path(), "script");
    assert_eq!(outcome.code(), 2);
    assert!(outcome.text().contains("write it to a file with -o a.html"), "{}", outcome.text());
    assert!(!outcome.text().contains("<html"));
    // Anything else than a terminal gets it.
    let outcome = heapwise(folder.path(), &["report", "a.hw", "--format", "html"]);
    assert!(outcome.text().starts_with("<!doctype html>") && outcome.text().ends_with("</html>\n"));
}

#[test]
fn source_lines_are_in_the_page_unless_they_are_not_wanted() {
    let folder = run::private_folder();
    let source = "#include <stdlib.h>\nvoid *kept;\nint main(void) {\n    kept = malloc(123); /* the line */\n    return 0;\n}\n";
    std::fs::write(folder.path().join("leak.c"), source).expect("a file can be written");
    let path = folder.path().join("leak.c");
    let built =
        Command::new("cc").args(["-g", "-O0", "-o", "leak"]).arg(&path).current_dir(folder.path()).status();
    assert!(built.expect("there is a compiler").success());
    assert_eq!(heapwise(folder.path(), &["run", "--no-report", "-o", "a.hw", "--", "./leak"]).code(), 0);
    let page = heapwise(folder.path(), &["report", "a.hw", "--format", "html"]).text();
    assert!(page.contains("/* the line */"), "the source line is there");
    let page = heapwise(folder.path(), &["report", "a.hw", "--format", "html", "--no-source"]).text();
    assert!(page.contains("leak.c") && !page.contains("/* the line */"));
}
