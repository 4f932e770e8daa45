//! This workspace keeps its own rules.

#[test]
fn the_workspace_is_tidy() {
    let problems = xtask::tidy::problems(xtask::cargo::root()).expect("the workspace can be read");
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}
