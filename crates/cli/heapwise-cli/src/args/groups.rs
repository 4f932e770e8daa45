//! The commands in `heapwise --help`, grouped by what one wants to do. clap lists them in one column.

use super::Cli;
use clap::CommandFactory;
use clap::builder::StyledStr;

/// Headings, and the commands below them.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Where memory comes from",
        &["run", "attach", "watch", "snapshot", "report", "annotate", "diff", "export"],
    ),
    ("Choosing an allocator", &["replay", "tune", "compare", "allocators"]),
    ("Many recordings", &["query", "fleet"]),
    ("What slows the heap from outside the code", &["doctor", "launch", "lab"]),
    ("This program", &["completions", "help"]),
];

/// What to type, and what for. Those of commands that a platform does not have are left out there.
const EXAMPLES: &[(&str, &str)] = &[
    ("run ./my-program --its-option", "record a program, then say where its memory comes from"),
    ("run -o base.hw cargo test", "record it and all that it starts into base.hw"),
    ("attach --duration 30s 4711", "record a process that runs already"),
    ("watch base.hw", "look at a recording while it grows, or at a process, live"),
    ("report base.hw --full", "look at a recording again, with all that is known"),
    ("report base.hw --open", "in the browser"),
    ("report base.hw -f json", "for machines"),
    ("annotate base.hw src/main.rs", "what each line of a file allocates"),
    ("diff base.hw new.hw", "what became better or worse"),
    ("export base.hw --to pprof", "for go tool pprof; also folded, dhat and firefox"),
    ("doctor ./my-program", "what outside the code would slow its heap"),
    ("replay base.hw", "its allocations again, with other allocators"),
    ("tune --goal rss ./my-program", "which allocator and settings suit it, with the fix"),
    ("lab debug-heap --quick", "what a checking heap costs on this machine"),
    ("compare ./my-program", "the program under each allocator, measured"),
    ("query 'describe sites' base.hw", "ask a recording in SQL; here, which columns there are"),
    ("fleet ask growth fleet/", "many recordings: what grew from release to release"),
];

const EXIT_CODES: &str = "\
Exit codes: 0 success, 1 unexpected, 2 usage, 3 a threshold of `diff` is exceeded, `doctor` found something, a program did not do \
the same in `compare`, an allocator failed in `replay` or cannot be used in `allocators`, or nothing could be tried on the program \
in `tune`, 4 unreadable recording, 126 the program cannot be executed, 127 command not found, 130 interrupted; `run` ends with the \
program's own code (128+n for a signal), or 125 if heapwise failed.";

/// The command line, with its commands in groups.
pub(crate) fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    Cli::command().help_template(template(&command)).after_help(examples(&command))
}

/// The same with the words of `heapwise-fleet`, for what describes all of it: completions and manual pages.
pub(crate) fn with_fleet() -> clap::Command {
    heapwise_tables::words::commands()
        .fold(command(), |all, of_fleet| all.mut_subcommand(of_fleet.get_name(), |_| of_fleet.clone()))
}

/// The command `name`, if this platform has it and it is shown.
fn shown<'c>(command: &'c clap::Command, name: &str) -> Option<&'c clap::Command> {
    command.find_subcommand(name).filter(|found| !found.is_hide_set())
}

fn template(command: &clap::Command) -> StyledStr {
    let styles = clap::builder::Styles::styled();
    let (heading, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::from("{before-help}{about-with-newline}\n{usage-heading} {usage}\n");
    for (title, names) in GROUPS {
        let members: Vec<_> = names.iter().filter_map(|name| shown(command, name)).collect();
        if members.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{heading}{title}:{heading:#}\n"));
        for found in members {
            let name = found.get_name();
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {literal}{name:<12}{literal:#}{about}\n"));
        }
    }
    text.push_str(&format!("\n{heading}Options:{heading:#}\n{{options}}{{after-help}}"));
    text.into()
}

fn examples(command: &clap::Command) -> String {
    let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let had: Vec<_> = EXAMPLES.iter().filter(|(line, _)| shown(command, &name(line)).is_some()).collect();
    let width = had.iter().map(|(line, _)| line.len()).max().unwrap_or(0);
    let lines: String =
        had.iter().map(|(line, says)| format!("  heapwise {line:<width$}  {says}\n")).collect();
    format!("Examples:\n{lines}\n{EXIT_CODES}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_shown_is_in_one_group() {
        let mut command = Cli::command();
        command.build();
        for shown in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&shown.get_name())).count();
            assert_eq!(groups, 1, "{}", shown.get_name());
        }
    }

    #[test]
    fn what_describes_all_of_it_has_the_words_of_fleet() {
        let mut all = with_fleet();
        // It panics where words are there twice.
        all.build();
        let fleet = all.find_subcommand("fleet").expect("it is there");
        let ingest = fleet.find_subcommand("ingest").expect("it is there");
        assert!(ingest.get_arguments().any(|argument| argument.get_long() == Some("replay")));
        let query = all.find_subcommand("query").expect("it is there");
        assert!(query.get_arguments().any(|argument| argument.get_long() == Some("workers")));
        let one = |name: &str| {
            Cli::command().find_subcommand(name).and_then(|one| one.get_about()).map(ToString::to_string)
        };
        for same in [fleet, query] {
            assert_eq!(one(same.get_name()), same.get_about().map(ToString::to_string));
        }
    }

    #[test]
    fn lines_of_the_overview_fit_a_terminal() {
        let help = super::command().render_help().to_string();
        assert!(help.contains("Where memory comes from:\n  run         "), "{help}");
        assert_eq!(
            help.contains("Choosing an allocator:\n  replay      "),
            cfg!(target_os = "linux"),
            "{help}"
        );
        let end = help.find("Exit codes:").expect("codes follow the examples");
        for line in help[..end].lines().filter(|line| !line.contains("[default:")) {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }

    #[test]
    fn examples_are_of_commands_that_this_platform_has() {
        let help = super::command().render_help().to_string();
        let examples = help.split("Examples:").nth(1).expect("there are some");
        assert!(examples.contains("  heapwise run ./my-program"), "{examples}");
        assert_eq!(examples.contains("heapwise replay"), cfg!(target_os = "linux"), "{examples}");
        // A line that clap wraps would begin with something else.
        let lines = examples.lines().skip(1).take_while(|line| !line.is_empty());
        assert!(lines.clone().all(|line| line.starts_with("  heapwise ")), "{examples}");
        assert_eq!(lines.count() + usize::from(!cfg!(target_os = "linux")) * 4, EXAMPLES.len());
    }
}
