//! The entries of a round: authors, titles, and poems.
//!
//! The mix of forms decides which allocations the versions can save. Poems of several lines have line breaks,
//! which JSON escapes and which therefore cannot be borrowed from the document; single lines can. Untitled
//! poems match no category at all, while titles that name themes match dozens, so the lists of matched
//! categories differ widely in length as they would in life.

use super::json::{Style, push_string};
use super::rng::Rng;
use super::world::World;

/// Of a thousand entries, this many have a title that names themes; the others are untitled.
const THEMED_PER_MILLE: usize = 440;

/// The fewest and the most themes in a title.
const THEMES: (usize, usize) = (8, 14);

/// Of a thousand entries, this many repeat the poem of the entry before under another author: joint
/// submissions, which tie by construction.
const JOINT_PER_MILLE: usize = 10;

/// Of a thousand entries, this many come from a tool that escapes all that is not ASCII.
const ASCII_ONLY_PER_MILLE: usize = 20;

/// Of a thousand lines, this many are speech in quotation marks.
const QUOTED_PER_MILLE: usize = 15;

/// Of a thousand poems, this many end with an ornament outside ASCII.
const ORNAMENT_PER_MILLE: usize = 50;

const FILLERS: &[&str] =
    &["a", "the", "of", "and", "in", "my", "no", "to", "by", "under", "through", "without"];
const ORNAMENTS: &[&str] = &["é", "—", "…", "🌙", "🌊"];

/// A kind of poem: how often it occurs, and how many lines and how many words per line it has.
struct Form {
    per_mille: usize,
    lines: (usize, usize),
    words: (usize, usize),
}

/// All forms; what they leave of the thousand is submitted without words.
const FORMS: &[Form] = &[
    // One line: no line break, nothing to escape.
    Form { per_mille: 40, lines: (1, 1), words: (5, 12) },
    // A haiku.
    Form { per_mille: 350, lines: (3, 3), words: (3, 5) },
    // Two quatrains.
    Form { per_mille: 350, lines: (8, 8), words: (4, 6) },
    // A sonnet.
    Form { per_mille: 170, lines: (14, 14), words: (5, 7) },
    // A ballad, which is too long for the rules.
    Form { per_mille: 70, lines: (24, 30), words: (7, 9) },
];

/// Writes one entry after the other, always into the same buffers.
#[derive(Debug)]
pub(super) struct Entries<'world> {
    world: &'world World,
    rng: Rng,
    title: String,
    contents: String,
    json: String,
}

impl<'world> Entries<'world> {
    /// Prepares the entries of a round, which draws from `rng`.
    pub(super) fn new(world: &'world World, rng: Rng) -> Entries<'world> {
        Entries { world, rng, title: String::new(), contents: String::new(), json: String::new() }
    }

    /// Makes the next entry and returns it as a JSON object.
    pub(super) fn next_json(&mut self) -> &str {
        let is_first = self.json.is_empty();
        if is_first || !self.rng.chance(JOINT_PER_MILLE) {
            self.make_title();
            self.make_contents();
        }
        let style = if self.rng.chance(ASCII_ONLY_PER_MILLE) { Style::AsciiOnly } else { Style::Utf8 };
        let author = self.rng.pick(&self.world.authors);

        self.json.clear();
        self.json.push_str("{\"author\":");
        push_string(&mut self.json, author, style);
        self.json.push_str(",\"title\":");
        push_string(&mut self.json, &self.title, style);
        self.json.push_str(",\"contents\":");
        push_string(&mut self.json, &self.contents, style);
        self.json.push('}');
        &self.json
    }

    fn make_title(&mut self) {
        self.title.clear();
        if !self.rng.chance(THEMED_PER_MILLE) {
            self.title.push_str("Untitled No. ");
            self.title.push_str(&self.rng.between(1, 999).to_string());
            return;
        }
        for theme in 0..self.rng.between(THEMES.0, THEMES.1) {
            if theme > 0 {
                self.title.push(' ');
            }
            self.title.push_str(self.rng.pick(&self.world.lexicon));
        }
    }

    fn make_contents(&mut self) {
        self.contents.clear();
        let mut draw = self.rng.below(1000);
        for form in FORMS {
            if draw < form.per_mille {
                return self.make_poem(form);
            }
            draw -= form.per_mille;
        }
        self.contents.push_str(self.rng.pick(&["", " ", "\n\n"]));
    }

    fn make_poem(&mut self, form: &Form) {
        for line in 0..self.rng.between(form.lines.0, form.lines.1) {
            if line > 0 {
                self.contents.push('\n');
            }
            let quoted = form.lines.1 > 1 && self.rng.chance(QUOTED_PER_MILLE);
            if quoted {
                self.contents.push('"');
            }
            for word in 0..self.rng.between(form.words.0, form.words.1) {
                if word > 0 {
                    self.contents.push(' ');
                }
                let filler = self.rng.chance(400);
                self.contents.push_str(if filler {
                    self.rng.pick(FILLERS)
                } else {
                    self.rng.pick(&self.world.lexicon)
                });
            }
            if quoted {
                self.contents.push('"');
            }
        }
        if self.rng.chance(ORNAMENT_PER_MILLE) {
            self.contents.push(' ');
            self.contents.push_str(self.rng.pick(ORNAMENTS));
        }
    }
}
