//! The HTML report from the command line: where it goes, and what is in it. What a browser makes of it is tested in
//! `web/browser`.

use heapwise_tests::{programs, run, tool};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
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
    let leak = leak(folder.path(), "leak.c");
    assert!(leak.exists());
    assert_eq!(heapwise(folder.path(), &["run", "--no-report", "-o", "a.hw", "--", "./leak"]).code(), 0);
    let page = heapwise(folder.path(), &["report", "a.hw", "--format", "html"]).text();
    assert!(page.contains("/* the line */"), "the source line is there");
    let page = heapwise(folder.path(), &["report", "a.hw", "--format", "html", "--no-source"]).text();
    assert!(page.contains("leak.c") && !page.contains("/* the line */"));
}

/// A program whose one block is allocated in a line of this source file.
fn leak(folder: &Path, name: &str) -> PathBuf {
    let source = "#include <stdlib.h>\nvoid *kept;\nint main(void) {\n    kept = malloc(123); /* the line */\n    return 0;\n}\n";
    let path = folder.join(name);
    std::fs::write(&path, source).expect("a file can be written");
    let built = Command::new("cc").args(["-g", "-O0", "-o", "leak"]).arg(&path).current_dir(folder).status();
    assert!(built.expect("there is a compiler").success());
    path
}

/// What lies in the place of a page, and how it gets there.
type Obstacle<'a> = (&'static str, &'a dyn Fn(&Path));

#[test]
fn a_page_that_is_replaced_is_private_and_nothing_is_written_through_its_name() {
    let folder = run::private_folder();
    let at = |name: &str| folder.path().join(name);
    let victim = "not to be written to";
    let line = ["run", "--force", "-o", "a.hw", "--format", "html", "--", "true"];
    let kinds: [Obstacle<'_>; 6] = [
        ("a link", &|page| symlink(at("victim"), page).expect("a link")),
        ("a link to nothing", &|page| symlink(at("created"), page).expect("a link")),
        ("another name", &|page| std::fs::hard_link(at("victim"), page).expect("a link")),
        ("a readable file", &|page| {
            std::fs::write(page, "old").expect("a file");
            std::fs::set_permissions(page, PermissionsExt::from_mode(0o666)).expect("is ours");
        }),
        ("a pipe", &|page| assert!(Command::new("mkfifo").arg(page).status().is_ok_and(|s| s.success()))),
        ("nothing", &|_| {}),
    ];
    for (what, put) in kinds {
        let _ = std::fs::remove_file(at("a.html"));
        std::fs::write(at("victim"), victim).expect("a file");
        put(&at("a.html"));
        let outcome = heapwise(folder.path(), &line);
        assert_eq!(outcome.code(), 0, "{what}: {}", outcome.stderr);
        let facts = at("a.html").symlink_metadata().expect("it is there");
        assert!(facts.is_file() && facts.mode() & 0o777 == 0o600 && facts.nlink() == 1, "{what}: {facts:?}");
        assert!(read(folder.path(), "a.html").starts_with("<!doctype html>"), "{what}");
        assert_eq!(read(folder.path(), "victim"), victim, "{what}");
        assert!(!at("created").exists(), "{what}");
    }
    // Without --force, even a link that leads nowhere has the name.
    for name in ["a.html", "a.hw"] {
        std::fs::remove_file(at(name)).expect("it is there");
    }
    symlink(at("created"), at("a.html")).expect("a link");
    let outcome =
        heapwise(folder.path(), &["run", "-o", "a.hw", "--format", "html", "--", "touch", "was-run"]);
    assert_eq!(outcome.code(), 125, "{}", outcome.stderr);
    assert!(!at("created").exists() && !at("was-run").exists());
    let left = std::fs::read_dir(folder.path()).expect("a folder").flatten();
    let left: Vec<_> = left.filter(|e| e.file_name().to_string_lossy().starts_with(".heapwise-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn results_of_other_commands_replace_what_has_their_name_if_forced() {
    let folder = run::private_folder();
    let at = |name: &str| folder.path().join(name);
    assert_eq!(heapwise(folder.path(), &["run", "--no-report", "-o", "a.hw", "--", "true"]).code(), 0);
    let commands: [&[&str]; 7] = [
        &["report", "a.hw"],
        &["diff", "a.hw", "a.hw"],
        &["export", "a.hw", "--to", "folded"],
        &["doctor", "--", "true"],
        &["allocators"],
        &["lab"],
        &["run", "--force", "-o", "b.hw", "--report-file", "out", "--", "true"],
    ];
    for command in commands {
        std::fs::write(at("victim"), "precious").expect("a file");
        let _ = std::fs::remove_file(at("out"));
        symlink(at("victim"), at("out")).expect("a link");
        let out: &[&str] = if command[0] == "run" { &[] } else { &["-o", "out", "--force"] };
        let words = [&command[..1], out, &command[1..]].concat();
        let unforced: Vec<_> = words.iter().copied().filter(|word| *word != "--force").collect();
        let refused = heapwise(folder.path(), &unforced);
        assert!(refused.stderr.contains("--force"), "{unforced:?}: {}", refused.stderr);
        assert!(at("out").symlink_metadata().expect("it is there").is_symlink(), "{unforced:?}");
        let outcome = heapwise(folder.path(), &words);
        assert!([0, 3].contains(&outcome.code()), "{words:?}: {}", outcome.stderr);
        let facts = at("out").symlink_metadata().expect("it is there");
        assert!(facts.is_file() && facts.mode() & 0o777 == 0o600, "{words:?}: {facts:?}");
        assert_eq!(read(folder.path(), "victim"), "precious", "{words:?}");
    }
    // A pipe is not waited for, and what is called like standard output is that.
    let outcome = heapwise(folder.path(), &["report", "a.hw", "-o", "/dev/stdout"]);
    assert!(outcome.text().contains("heapwise"), "{}", outcome.stderr);
    assert!(Path::new("/dev/stdout").symlink_metadata().expect("it is there").is_symlink());
}

#[test]
fn lines_of_files_elsewhere_are_in_the_page_only_if_their_folder_was_named() {
    let (folder, other) = (run::private_folder(), run::private_folder());
    let elsewhere = leak(other.path(), "secret.c");
    let program = other.path().join("leak").display().to_string();
    let run = ["run", "--no-report", "-o", "a.hw", "--", &program];
    assert_eq!(heapwise(folder.path(), &run).code(), 0);
    let root = other.path().display().to_string();
    let page = |more: &[&str]| {
        let outcome = heapwise(folder.path(), &[&["report", "a.hw", "--format", "html"], more].concat());
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        (outcome.text(), outcome.stderr)
    };
    let list = format!("\"source_files\":[\"{}\"]", elsewhere.display());
    let (text, said) = page(&[]);
    assert!(!text.contains("/* the line */") && text.contains("\"source_files\":[]"));
    assert!(said.contains("secret.c: not below the current folder; --source-root DIR"), "{said}");
    let (text, said) = page(&["--source-root", &root]);
    assert!(text.contains("/* the line */") && text.contains(&list), "{said}");
    assert_eq!(said, "");
    // Below the current folder by name, and elsewhere in truth.
    symlink(other.path(), folder.path().join("link")).expect("a link");
    let outcome = heapwise(
        other.path(),
        &["report", &folder.path().join("a.hw").display().to_string(), "--format", "html"],
    );
    assert!(outcome.text().contains(&list), "the current folder is named");
    // The same file, put in the place of the source that the recording names: a link to what the reader did not name.
    let (private, hidden) = (run::private_folder(), other.path().join("secret.c"));
    let moved = private.path().join("moved.c");
    std::fs::rename(&hidden, &moved).expect("it can be moved");
    symlink(&moved, &hidden).expect("a link");
    let (text, _) = page(&["--source-root", &root]);
    assert!(!text.contains("/* the line */"), "the link is not followed out of the folder");
    let outcome = heapwise(folder.path(), &["report", "a.hw", "--source-root", "no/such/folder"]);
    assert_eq!(outcome.code(), 2);
    assert!(
        outcome.stderr.contains("--source-root: cannot read the folder no/such/folder"),
        "{}",
        outcome.stderr
    );
}
