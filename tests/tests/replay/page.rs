//! The page for a browser.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::recording::Recording;
use heapwise_tests::run::{self, private_folder};
use heapwise_tests::tool::heapwise;
use heapwise_tests::victim::Victim;
use std::fs;

#[test]
fn the_page_for_a_browser_is_one_file_without_scripts() {
    let folder = private_folder();
    let hostile = folder.path().join("<b>&\"x");
    fs::copy(build(&Victim::named("growth_by_realloc"), FlagSet::Release), &hostile).expect("a copy");
    let recorded = Recording::new(folder.path()).record(&hostile, &["<script>alert(1)</script>"]);
    let page = folder.path().join("replay.html");
    let mut command = run::command(heapwise(), folder.path());
    command.arg("replay").arg(&recorded.file).args([
        "--with",
        "glibc,jemalloc",
        "--runs",
        "1",
        "--format",
        "html",
    ]);
    command.arg("-o").arg(&page);
    let outcome = run::finish(&mut command, folder.path(), "html");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let text = fs::read_to_string(&page).expect("a page");
    assert!(text.matches("<svg").count() >= 5, "strips, levels, bars");
    assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    for never in ["<script", "<b>&", "http://", "https://", "NaN"] {
        assert!(!text.contains(never), "{never}");
    }
}
