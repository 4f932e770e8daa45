//! How to write down what a candidate is, so that the program has it without heapwise.

/// The ways to give a program an allocator with its settings for good, as text to be pasted.
///
/// A way that does not exist for an allocator is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fix {
    /// Lines for `[dependencies]` of a Rust program's Cargo.toml.
    pub cargo: Vec<String>,
    /// Lines for a Rust program's main file.
    pub rust: Vec<String>,
    /// Variables of the environment, for a program that has the allocator already, by whichever way.
    pub environment: Vec<(String, String)>,
    /// How a program in C, C++ or another language gets the allocator, a sentence each.
    pub other_languages: Vec<String>,
    /// Calls that do something of the same kind from within the program.
    pub calls: Vec<Call>,
    /// What it costs, and when it does not do what it promises; a sentence each.
    pub caveats: Vec<String>,
}

/// A call into the allocator, to be placed by a developer who knows the program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// Where it belongs, and what for.
    pub place: String,
    /// The line in C.
    pub c: String,
    /// The line in Rust.
    pub rust: String,
}

impl Call {
    pub(crate) fn new(place: &str, c: &str, rust: &str) -> Self {
        Self { place: place.into(), c: c.into(), rust: rust.into() }
    }
}

impl Fix {
    /// The variables as one writes them in front of a command: `A=1 B=2`. Empty without variables.
    pub fn environment_line(&self) -> String {
        let quoted = self.environment.iter().map(|(name, value)| format!("{name}={}", quote(value)));
        quoted.collect::<Vec<_>>().join(" ")
    }
}

/// Lines of Rust that have these statements run when the program is loaded, before `main` and before anything is allocated.
/// An allocator that takes settings from calls gets them in time that way, also those that it reads once.
pub(crate) fn before_main(statements: &[String]) -> Vec<String> {
    let mut lines = vec![
        "#[used]".to_owned(),
        // Those with a number run first, in its order; up to 100 belong to the system.
        "#[unsafe(link_section = \".init_array.00101\")]".to_owned(),
        "static ALLOCATOR_OPTIONS: extern \"C\" fn() = {".to_owned(),
        "    extern \"C\" fn set() {".to_owned(),
    ];
    lines.extend(statements.iter().map(|statement| format!("        {statement}")));
    lines.extend(["    }", "    set", "};"].map(str::to_owned));
    lines
}

/// A note for lines of Rust that set options.
pub(crate) const UNSAFE: &str = "A crate with #![forbid(unsafe_code)] refuses the lines that set options: say deny there, and \
                                 allow it for these lines, or have them in a separate crate.";

/// A word for a shell, in quotes only if it needs them.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_line_can_be_pasted() {
        let environment = vec![("A".into(), "x:1,y:2".into()), ("B".into(), "it's; rm".into())];
        let fix = Fix { environment, ..Fix::default() };
        assert_eq!(fix.environment_line(), r"A=x:1,y:2 B='it'\''s; rm'");
        assert_eq!(Fix::default().environment_line(), "");
    }
}
