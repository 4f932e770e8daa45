//! A flame graph of a service: which functions request memory, within those that call them.

use super::service::{WHERE, link, title, values};
use super::{Made, Problem, trail};
use crate::serve::look::Look;
use heapwise_report::document::{Block, Document, Figures, Flame, Link, Mark, Section, Words};
use heapwise_report::units;
use std::collections::{BTreeMap, HashMap};

/// What a flame graph can be of: columns of `sites`, and what they are called.
const BY: [(&str, &str); 3] = [
    ("peak_bytes", "live bytes at the peak"),
    ("allocated_bytes", "allocated bytes"),
    ("live_at_exit_bytes", "bytes that were never freed"),
];
/// Stacks in the picture. The rest is one part of it.
const MOST_STACKS: usize = 5000;
/// Functions below each other, from the root or the function in focus on: who wants to see more chooses another focus.
const MOST_LEVELS: usize = 128;
/// A part of the whole that is too narrow to be seen.
const LEAST_SHARE: f64 = 0.002;

pub(super) async fn page(look: &Look<'_>) -> Made {
    let asked = look.parameter("by");
    let Some((by, what)) = BY.into_iter().find(|(name, _)| asked.is_empty() || *name == asked) else {
        return Err(Problem::Nothing(
            "There is a flame graph of peak_bytes, allocated_bytes and live_at_exit_bytes.".to_owned(),
        ));
    };
    let focus = look.parameter("focus");
    let values = values(look);
    let of_service = format!(
        "select sites.stack_id, sum(sites.{by}) as bytes from sites join recordings on sites.recording = recordings.recording \
         where {WHERE} and sites.service = $folder group by sites.stack_id"
    );
    let recordings =
        look.rows(&format!("select count(*) as n from recordings where {WHERE}"), &values).await?;
    let n = recordings.first().map_or(0.0, |row| row.number("n"));
    if n == 0.0 {
        return Err(Problem::Nothing(format!(
            "There are no such recordings of {}.",
            look.parameter("service")
        )));
    }
    let all =
        look.rows(&format!("select sum(bytes) as bytes from ({of_service}) all_sites"), &values).await?;
    let chosen = format!(
        "totals as ({of_service}), largest as (select stack_id, bytes from totals where stack_id is not null and bytes > 0 \
         order by bytes desc, stack_id limit {MOST_STACKS}), \
         known as (select stack_id, first_value(frame_ids) as frame_ids from stacks \
         where service = $folder and stack_id in (select stack_id from largest) group by stack_id)"
    );
    let stacks = look
        .rows(
            &format!(
                "with {chosen} select largest.bytes, known.frame_ids from largest join known on largest.stack_id = known.stack_id"
            ),
            &values,
        )
        .await?;
    let names = look
        .rows(
            &format!(
                "with {chosen}, ids as (select distinct unnest(frame_ids) as frame_id from known) \
                 select frames.frame_id, min(frames.function) as function from frames join ids on frames.frame_id = ids.frame_id \
                 where frames.service = $folder group by frames.frame_id"
            ),
            &values,
        )
        .await?;
    let names: HashMap<&str, &str> =
        names.iter().map(|row| (row.text("frame_id"), row.text("function"))).collect();
    let mean = |bytes: f64| (bytes / n).max(0.0);
    let mut root = Node::default();
    let mut shown = 0.0;
    for row in stacks.iter() {
        let frames = row.texts("frame_ids");
        let part = part(&frames, focus);
        if !part.is_empty() {
            let bytes = row.number("bytes");
            root.add(&part, mean(bytes));
            shown += bytes;
        }
    }
    let rest = all.first().map_or(0.0, |row| row.number("bytes")) - shown;
    let focus_link = |id: &str| link(look, &["flame"], &[("by", by), ("focus", id)]);
    let mut picture = root.flame("all", root.bytes * LEAST_SHARE, &names, &focus_link);
    if focus.is_empty() && rest > 0.0 {
        let bytes = mean(rest).round() as u64;
        picture.children.push(Flame {
            label: "stacks that are not shown".to_owned(),
            bytes,
            ..Flame::default()
        });
        picture.bytes += bytes;
    } else if let [only] = &mut picture.children[..] {
        picture = std::mem::take(only);
    }
    let of_stacks = match stacks.iter().len() {
        MOST_STACKS if !focus.is_empty() => {
            format!(", of the {} largest stacks", units::count(MOST_STACKS as u64))
        }
        _ => String::new(),
    };
    let n = units::count(n as u64);
    let caption = format!("{what}, mean of {n} recordings{of_stacks}: {}", units::bytes(picture.bytes));
    let others =
        BY.map(|(by, what)| Words::own(what).to(&link(look, &["flame"], &[("by", by), ("focus", focus)])));
    let whole = (!focus.is_empty())
        .then(|| Words::own("the whole service").to(&link(look, &["flame"], &[("by", by)])));
    let mut sections =
        vec![trail([title(look).to(&link(look, &[], &[]))].into_iter().chain(others).chain(whole))];
    sections.push(Section::untitled([if picture.bytes == 0 {
        Block::line(Mark::Plain, Words::own("There are no bytes to be shown."))
    } else {
        Block::Figures(Figures::flame(caption, picture))
    }]));
    let aside =
        "A function is as wide as the bytes that it and those that it calls request; a click shows it alone."
            .to_owned();
    Ok(Document { title: Words::own("flame graph of ").then(title(look)), aside, sections })
}

/// What of a stack is shown, from the outermost frame inwards: all, or what is below the function in focus, wherever it was called from
/// first. `frames` begin with the innermost one.
fn part<'a>(frames: &[&'a str], focus: &str) -> Vec<&'a str> {
    let from = match focus {
        "" => frames.len(),
        _ => frames.iter().rposition(|id| *id == focus).map_or(0, |at| at + 1),
    };
    frames[..from].iter().rev().copied().take(MOST_LEVELS).collect()
}

/// Functions below others, by their ids.
#[derive(Debug, Default)]
struct Node<'a> {
    bytes: f64,
    children: BTreeMap<&'a str, Node<'a>>,
}

impl<'a> Node<'a> {
    fn add(&mut self, frames: &[&'a str], bytes: f64) {
        let mut node = self;
        node.bytes += bytes;
        for &id in frames {
            node = node.children.entry(id).or_default();
            node.bytes += bytes;
        }
    }

    /// Without what has fewer bytes than `least`. It is [`MOST_LEVELS`] deep.
    fn flame(
        &self,
        label: &str,
        least: f64,
        names: &HashMap<&str, &str>,
        link: &dyn Fn(&str) -> Link,
    ) -> Flame {
        let seen = self.children.iter().filter(|(_, node)| node.bytes >= least);
        let child = |(id, node): (&&str, &Node<'_>)| {
            let name = names.get(id).copied().unwrap_or_default();
            Flame { link: Some(link(id)), ..node.flame(&super::name_of(name), least, names, link) }
        };
        Flame {
            label: label.to_owned(),
            bytes: self.bytes.round() as u64,
            children: seen.map(child).collect(),
            link: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_focus_shows_what_is_below_it_and_no_stack_is_too_deep() {
        let frames = ["malloc", "f", "g", "f", "main"];
        assert_eq!(part(&frames, ""), ["main", "f", "g", "f", "malloc"]);
        assert_eq!(part(&frames, "f"), ["f", "g", "f", "malloc"]);
        assert!(part(&frames, "h").is_empty() && part(&[], "").is_empty());
        // A hostile table may have any length.
        let deep: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
        let deep: Vec<&str> = deep.iter().map(String::as_str).collect();
        let shown = part(&deep, "");
        assert_eq!((shown.len(), shown[0]), (MOST_LEVELS, "99999"));
    }

    #[test]
    fn stacks_become_functions_within_their_callers() {
        let mut root = Node::default();
        root.add(&["main", "read"], 10.0);
        root.add(&["main", "write"], 5.0);
        root.add(&["main"], 1.0);
        let names = HashMap::from([("main", "fn main"), ("read", "fn read")]);
        let link = |id: &str| Link::new(&[id], []);
        let flame = root.flame("all", 0.0, &names, &link);
        let main = &flame.children[0];
        assert_eq!((flame.bytes, main.bytes, main.label.as_str()), (16, 16, "fn main"));
        let below: Vec<_> = main.children.iter().map(|child| (child.label.as_str(), child.bytes)).collect();
        assert_eq!(below, [("fn read", 10), ("(none)", 5)]);
        assert_eq!(root.flame("all", 6.0, &names, &link).children[0].children.len(), 1);
    }
}
