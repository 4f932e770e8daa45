//! The commands in `heapwise --help`, grouped by what one wants to do. clap lists them in one column.

use super::Cli;
use clap::CommandFactory;
use clap::builder::StyledStr;

/// Headings, and the commands below them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Where memory comes from", &["run", "report", "diff", "export"]),
    ("Choosing an allocator", &["replay", "tune", "compare", "allocators"]),
    ("What slows the heap from outside the code", &["doctor", "launch", "lab"]),
    ("This program", &["completions", "help"]),
];

/// The command line, with its commands in groups.
pub(crate) fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    let template = template(&command);
    Cli::command().help_template(template)
}

fn template(command: &clap::Command) -> StyledStr {
    let styles = clap::builder::Styles::styled();
    let (heading, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::from("{before-help}{about-with-newline}\n{usage-heading} {usage}\n");
    for (title, names) in GROUPS {
        text.push_str(&format!("\n{heading}{title}:{heading:#}\n"));
        for found in names.iter().filter_map(|name| command.find_subcommand(name)) {
            // What a platform does not have is hidden or not there.
            if found.is_hide_set() {
                continue;
            }
            let name = found.get_name();
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {literal}{name:<12}{literal:#}{about}\n"));
        }
    }
    text.push_str(&format!("\n{heading}Options:{heading:#}\n{{options}}{{after-help}}"));
    text.into()
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
    fn lines_of_the_overview_fit_a_terminal() {
        let help = super::command().render_help().to_string();
        assert!(help.contains("Choosing an allocator:\n  replay      "), "{help}");
        for line in help.lines().take_while(|line| !line.starts_with("Options:")) {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}
