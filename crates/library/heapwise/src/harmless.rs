//! Text from elsewhere, made fit for a terminal.

/// Names, variables and paths may hold anything, also what a terminal takes for commands.
pub(crate) fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Marks that turn the direction of text around make a line read as another one.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push('\u{fffd}')
            }
            // These end a line for some who read it.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_is_spelt_out() {
        assert_eq!(harmless("a\u{1b}[2J\nb\u{2028}c\u{202e}d é"), "a\\u{1b}[2J\\nb\\u{2028}c\u{fffd}d é");
    }
}
