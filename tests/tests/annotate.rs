//! `heapwise annotate` on a program whose every line is known: exact numbers at exact lines, which file a path means, and
//! source files that are not what they were.

use heapwise_tests::{run, tool};
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// 20 pairs that stay, 1,000 that are freed at once, and a recursion of 10 and one of 5. The peak is at the depth of 10.
const SHOP: &str = "\
#include <stdlib.h>

struct pair { char *left, *right; };
static struct pair kept[20];

static void load(struct pair *pair) {
    pair->left = malloc(100);
    pair->right = malloc(28);
}

static void drop(struct pair *pair) {
    free(pair->right);
    free(pair->left);
}

static long walk(int depth) {
    char *one = malloc(16); /* \u{1b}[2J\u{202e} */
    long below = depth > 1 ? walk(depth - 1) : 0;
    free(one);
    return below + 1;
}

int main(void) {
    for (int i = 0; i < 20; i++)
        load(&kept[i]);
    for (int i = 0; i < 1000; i++) {
        struct pair pair;
        load(&pair);
        drop(&pair);
    }
    return walk(10) + walk(5) == 15 ? 0 : 1;
}
";

/// A folder with the program, its source in `src`, and `shop.hw`, a recording of it.
fn recorded() -> TempDir {
    let folder = run::private_folder();
    let at = folder.path();
    fs::create_dir(at.join("src")).expect("a folder");
    fs::write(at.join("src/shop.c"), SHOP).expect("a file");
    let built =
        Command::new("cc").args(["-w", "-g", "-O0", "-o", "shop", "src/shop.c"]).current_dir(at).status();
    assert!(built.expect("there is a compiler").success());
    let outcome = heapwise(at, &["run", "--no-report", "-o", "shop.hw", "./shop"]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    folder
}

fn heapwise(folder: &Path, arguments: &[&str]) -> run::Outcome {
    run::finish(run::command(tool::heapwise(), folder).args(arguments), folder, "heapwise")
}

fn annotated(folder: &Path, arguments: &[&str]) -> String {
    let outcome = heapwise(folder, &[&["annotate", "shop.hw"], arguments].concat());
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(!outcome.text().contains('\u{1b}') && !outcome.text().contains('\u{202e}'), "{}", outcome.text());
    outcome.text()
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&annotated(folder, &[arguments, &["-f", "json"]].concat())).expect("JSON")
}

#[test]
fn each_line_has_what_it_allocates_and_what_it_calls_allocates() {
    let folder = recorded();
    let found = json(folder.path(), &["shop.c"]);
    let costs = |costs: &Value| {
        let names = ["allocations", "allocated_bytes", "peak_bytes", "temporary_allocations"];
        names.map(|name| costs[name].as_u64().expect("a number"))
    };
    let line = |number: u64| {
        let lines = found["lines"].as_array().expect("lines");
        let line =
            lines.iter().find(|line| line["line"] == number).unwrap_or_else(|| panic!("{number}: {found}"));
        (
            line["function"].as_str().expect("a name").to_owned(),
            costs(&line["own"]),
            costs(&line["with_callees"]),
        )
    };
    let (left, right) = ([1020, 102_000, 2000, 0], [1020, 28_560, 560, 1000]);
    assert_eq!(line(7), ("load".into(), left, left));
    assert_eq!(line(8), ("load".into(), right, right));
    // The innermost block of each recursion is freed before another one is allocated.
    assert_eq!(line(17), ("walk".into(), [15, 240, 160, 2], [15, 240, 160, 2]));
    // A call of itself: all blocks but those of the two outermost calls, and each once.
    assert_eq!(line(18), ("walk".into(), [0; 4], [13, 208, 144, 2]));
    assert_eq!(line(25), ("main".into(), [0; 4], [40, 2560, 2560, 0]));
    assert_eq!(line(28), ("main".into(), [0; 4], [2000, 128_000, 0, 1000]));
    assert_eq!(line(31), ("main".into(), [0; 4], [15, 240, 160, 2]));
    let numbers: Vec<_> =
        found["lines"].as_array().expect("lines").iter().map(|line| &line["line"]).collect();
    assert_eq!(numbers, [7, 8, 17, 18, 25, 28, 31], "no other line is in a stack");
    let file = &found["files"][0];
    assert_eq!((&file["owner"], costs(&file["own"])[0]), (&Value::from("user"), 2055));
    assert_eq!(costs(&file["own"]), costs(&file["with_callees"]));
    assert_eq!(found["source"]["absence"], Value::Null);
    assert_eq!(found["lines"][0]["text"], "    pair->left = malloc(100);");
    assert!(found["lines"][0]["own"]["estimated_time_ns"].as_u64().is_some_and(|time| time > 1000));
}

#[test]
fn the_text_has_lines_that_allocate_with_others_around_them() {
    let folder = recorded();
    let narrow = annotated(folder.path(), &["src/shop.c"]);
    let line = |text: &str, with: &str| text.lines().find(|line| line.contains(with)).map(str::to_owned);
    let left = line(&narrow, "pair->left = malloc").expect("the line is shown");
    let words: Vec<_> = left.split_whitespace().take(10).collect();
    assert_eq!(words, ["1,020", "99.6", "KiB", "1.95", "KiB", "9", "µs", "1,020", "7", "│"], "{narrow}");
    assert!(narrow.contains("malloc(16); /* \\u{1b}[2J"), "{narrow}");
    assert!(line(&narrow, "struct pair pair;").is_some(), "a line of the context");
    assert!(narrow.lines().all(|line| line.chars().count() <= 100), "{narrow}");
    assert!(line(&narrow, "#include").is_none() && line(&narrow, "…").is_some(), "{narrow}");
    assert!(line(&annotated(folder.path(), &["src/shop.c", "--full"]), "#include").is_some());
    for (columns, temporary) in [("80", false), ("120", true)] {
        let mut command = run::command(tool::heapwise(), folder.path());
        command.env("COLUMNS", columns).args(["annotate", "shop.hw", "shop.c"]);
        let text = run::finish(&mut command, folder.path(), "heapwise").text();
        assert_eq!(text.contains("temp."), temporary, "{text}");
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= columns.parse().expect("a number")), "{text}");
    }
    let markdown = annotated(folder.path(), &["shop.c", "-f", "markdown"]);
    assert!(
        markdown.contains("```text\n") && markdown.contains("│     pair->left = malloc(100);"),
        "{markdown}"
    );
    let files = annotated(folder.path(), &[]);
    assert!(
        files.contains("YOUR CODE") && line(&files, "src/shop.c").is_some_and(|line| line.contains("2,055")),
        "{files}"
    );
}

#[test]
fn colours_are_there_if_they_are_wanted() {
    let folder = recorded();
    let coloured = |variables: &[(&str, &str)], option: &str| {
        let mut command = run::command(tool::heapwise(), folder.path());
        command.envs(variables.iter().copied()).args(["annotate", "shop.hw", "shop.c", "--color", option]);
        run::finish(&mut command, folder.path(), "heapwise").text().contains("\u{1b}[31m")
    };
    assert!(coloured(&[], "always"), "hot lines are red");
    assert!(!coloured(&[("NO_COLOR", "1")], "auto") && !coloured(&[], "auto") && !coloured(&[], "never"));
}

#[test]
fn a_path_that_is_none_or_several_is_wrong_usage() {
    let folder = recorded();
    let refused = |arguments: &[&str]| {
        let outcome = heapwise(folder.path(), &[&["annotate"], arguments].concat());
        assert_eq!(outcome.text(), "");
        (outcome.code(), outcome.stderr)
    };
    let (code, said) = refused(&["shop.hw", "hop.c"]);
    assert!(code == 2 && said.contains("no stack has a line of hop.c"), "{said}");
    let (code, said) = refused(&["missing.hw", "shop.c"]);
    assert!(code == 4 && said.contains("missing.hw"), "{said}");
    fs::write(folder.path().join("none.hw"), "not a recording").expect("a file");
    assert_eq!(refused(&["none.hw"]).0, 4);

    // The same name in two folders.
    let at = folder.path();
    fs::create_dir(at.join("lib")).expect("a folder");
    fs::write(at.join("lib/part.c"), "#include <stdlib.h>\nvoid *part(void) { return malloc(3); }\n")
        .expect("a file");
    fs::write(at.join("src/part.c"), "#include <stdlib.h>\nvoid *part(void);\nint main(void) { free(malloc(5)); free(part()); return 0; }\n").expect("a file");
    let built = Command::new("cc")
        .args(["-g", "-O0", "-o", "two", "src/part.c", "lib/part.c"])
        .current_dir(at)
        .status();
    assert!(built.expect("there is a compiler").success());
    assert_eq!(heapwise(at, &["run", "--no-report", "-o", "two.hw", "./two"]).code(), 0);
    let (code, said) = refused(&["two.hw", "part.c"]);
    let named = ["lib/part.c", "src/part.c"].iter().all(|path| said.contains(path));
    assert!(code == 2 && named && said.contains("2 paths") && said.lines().count() == 1, "{said}");
    let text = heapwise(at, &["annotate", "two.hw", "lib/part.c"]).text();
    assert!(text.contains("return malloc(3)") && !text.contains("malloc(5)"), "{text}");
}

#[test]
fn a_source_that_is_not_what_was_compiled_is_not_shown() {
    let folder = recorded();
    let source = folder.path().join("src/shop.c");
    let written = source.metadata().and_then(|facts| facts.modified()).expect("a time");
    let seen = |why: &str, words: &str| {
        let text = annotated(folder.path(), &["shop.c"]);
        assert!(text.contains(words) && !text.contains("pair->left"), "{why}: {text}");
        // Lines are numbers with the names of their functions.
        assert!(
            text.lines().any(|line| line.contains("1,020") && line.ends_with("  7 │ load")),
            "{why}: {text}"
        );
        let found = json(folder.path(), &["shop.c"]);
        assert_eq!(
            (&found["source"]["absence"], &found["lines"][0]["text"]),
            (&Value::from(why), &Value::Null)
        );
        assert_eq!(found["lines"].as_array().map(Vec::len), Some(7));
    };
    let in_place = |put: &dyn Fn(&Path)| {
        fs::remove_file(&source).expect("it is there");
        put(&source);
    };
    File::open(&source)
        .and_then(|file| file.set_modified(SystemTime::now() + Duration::from_secs(5)))
        .expect("it is ours");
    seen("changed", "was changed after");
    in_place(&|path| {
        fs::write(path, "short\n").expect("a file");
        File::open(path).and_then(|file| file.set_modified(written)).expect("it is ours");
    });
    seen("shorter", "fewer lines");
    in_place(&|path| File::create(path).and_then(|file| file.set_len(9 << 20)).expect("a file"));
    seen("too-large", "larger than any");
    in_place(&|path| assert!(Command::new("mkfifo").arg(path).status().is_ok_and(|status| status.success())));
    seen("not-regular", "no regular file");
    in_place(&|path| symlink("/etc/passwd", path).expect("a link"));
    seen("not-source", "not that of source code");
    let other = run::private_folder();
    fs::write(other.path().join("other.c"), SHOP).expect("a file");
    in_place(&|path| symlink(other.path().join("other.c"), path).expect("a link"));
    seen("outside", "--source-root DIR");
    in_place(&|_| {});
    seen("not-found", "not on this machine");

    fs::write(&source, SHOP).expect("a file");
    File::open(&source).and_then(|file| file.set_modified(written)).expect("it is ours");
    assert!(annotated(folder.path(), &["shop.c"]).contains("pair->left"));
    let text = annotated(folder.path(), &["shop.c", "--no-source"]);
    assert!(text.contains("--no-source leaves it out") && !text.contains("pair->left"), "{text}");
}

#[test]
fn a_finding_is_named_below_its_line() {
    let folder = run::private_folder();
    let at = folder.path();
    let source = "#include <stdlib.h>\nint main(void) {\n    for (int i = 0; i < 300000; i++) {\n        char *room = malloc(64);\n        room[0] = i;\n        free(room);\n    }\n    return 0;\n}\n";
    fs::write(at.join("loop.c"), source).expect("a file");
    let built = Command::new("cc").args(["-g", "-O0", "-o", "loop", "loop.c"]).current_dir(at).status();
    assert!(built.expect("there is a compiler").success());
    assert_eq!(heapwise(at, &["run", "--no-report", "-o", "shop.hw", "./loop"]).code(), 0);
    let found = json(at, &["loop.c"]);
    assert_eq!(found["findings"][0]["id"], "reuse-in-loop", "{found}");
    assert_eq!(found["lines"][0]["findings"], serde_json::json!([0]));
    let text = annotated(at, &["loop.c"]);
    let lines: Vec<_> = text.lines().collect();
    let place = lines.iter().position(|line| line.contains("malloc(64)")).expect("the line is shown");
    assert!(lines[place + 1].contains("▲ finding 1 ("), "{text}");
}
