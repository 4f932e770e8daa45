//! LLDB's commands, as far as they concern the debug heap.
//!
//! `settings set target.env-vars NAME=VALUE …` is the environment of the next process, `settings append` adds to it, and `env`
//! is short for that. LLDB 24 has `platform.plugin.windows.disable-debug-heap`, which is on by default
//! (llvm-project pull request 212126; `PlatformWindowsProperties.td`).

use crate::given::Given;
use crate::rule;
use crate::source::Source;
use std::ops::Range;

/// The setting of LLDB 24.
pub(crate) const SETTING: &str = "platform.plugin.windows.disable-debug-heap";

/// What a command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// It sets the variable to the value at these bytes of the command.
    Variable(Range<usize>),
    /// It sets all variables, and ours is not among them.
    Forgets,
    /// It sets LLDB's own setting to the value at these bytes.
    Setting(Range<usize>),
}

pub(crate) fn command(line: &str) -> Option<Command> {
    let mut words = words(line);
    let first = words.next()?;
    let verb = &line[first];
    if verb == "env" || verb == "_regexp-env" {
        return pairs(line, words).map(Command::Variable);
    }
    // LLDB takes any beginning of a word that is the only one with it.
    if verb.len() < 2 || !"settings".starts_with(verb) {
        return None;
    }
    let action = &line[words.next()?];
    let is_set = action == "set" || action == "s";
    if !is_set && !"append".starts_with(action) {
        return None;
    }
    let mut words = words.skip_while(|word| line[word.clone()].starts_with('-'));
    match &line[words.next()?] {
        "target.env-vars" => match pairs(line, words) {
            Some(value) => Some(Command::Variable(value)),
            None => is_set.then_some(Command::Forgets),
        },
        name if name == SETTING => words.next().map(Command::Setting),
        _ => None,
    }
}

/// Words that blanks separate; a quoted part may have some.
fn words(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += line[at..].len() - line[at..].trim_start().len();
        let start = at;
        let mut quote = None;
        for c in line[start..].chars() {
            match quote {
                None if c.is_whitespace() => break,
                None if matches!(c, '"' | '\'') => quote = Some(c),
                Some(q) if q == c => quote = None,
                _ => {}
            }
            at += c.len_utf8();
        }
        (at > start).then_some(start..at)
    })
}

/// Where the value of the variable is among words of `NAME=VALUE`, without quotes.
fn pairs(line: &str, words: impl Iterator<Item = Range<usize>>) -> Option<Range<usize>> {
    let mut found = None;
    for word in words {
        let inner = |range: Range<usize>| {
            let bare = line[range.clone()].trim_matches(['"', '\'']);
            let start = bare.as_ptr() as usize - line.as_ptr() as usize;
            start..start + bare.len()
        };
        let pair = inner(word);
        if let Some((name, value)) = line[pair.clone()].split_once('=')
            && rule::is_variable(name)
        {
            found = Some(inner(pair.end - value.len()..pair.end));
        }
    }
    found
}

/// What commands in a configuration set, one after the other. Their text is not the file's, so no change is proposed.
pub(crate) fn given(source: &Source, commands: &[&str], at: usize) -> Given {
    let mut given = Given::Absent;
    for text in commands {
        match command(text) {
            Some(Command::Variable(value)) => given = Given::value(source, &text[value], at, None),
            Some(Command::Forgets) => given = Given::Absent,
            Some(Command::Setting(_)) | None => {}
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(line: &str) -> Option<&str> {
        match command(line)? {
            Command::Variable(range) | Command::Setting(range) => Some(&line[range]),
            Command::Forgets => None,
        }
    }

    #[test]
    fn the_variable_is_found_however_it_is_set() {
        for line in [
            "settings set target.env-vars _NO_DEBUG_HEAP=1",
            "  settings append target.env-vars A=2 _NO_DEBUG_HEAP=1 B=3",
            "settings set -g target.env-vars '_NO_DEBUG_HEAP=1'",
            "se s target.env-vars _NO_DEBUG_HEAP=\"1\"",
            "env _NO_DEBUG_HEAP=1",
        ] {
            assert_eq!(value(line), Some("1"), "{line}");
        }
        assert_eq!(command("settings set target.env-vars A=1"), Some(Command::Forgets));
        for other in
            ["settings show target.env-vars", "# settings set target.env-vars", "s", "", "command alias x y"]
        {
            assert_eq!(command(other), None, "{other}");
        }
    }

    #[test]
    fn the_setting_of_lldb_24_is_known() {
        assert_eq!(value("settings set platform.plugin.windows.disable-debug-heap false"), Some("false"));
    }
}
