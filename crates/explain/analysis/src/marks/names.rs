//! What the marks of a process are called.

use crate::budget::{Budget, price};
use heapwise_trace::event::MarkId;
use heapwise_trace::file::tables::MarkNames;
use heapwise_trace::live::layout::MAX_MARK_NAMES;

/// Stands for all names for which the process had no room.
const OTHER: &str = "(other names)";

/// The names of one process by their ids.
#[derive(Debug, Default)]
pub(crate) struct Names(Vec<Option<String>>);

impl Names {
    /// Adds names. Those with ids that no process can have are ignored.
    pub(crate) fn add(&mut self, names: MarkNames, budget: &Budget) {
        for (id, name) in (u64::from(names.first_id)..).zip(names.names) {
            let Some(at) = id.checked_sub(1).filter(|at| *at < MAX_MARK_NAMES as u64) else { continue };
            let at = at as usize;
            if self.0.len() <= at {
                if !budget.keep((at + 1 - self.0.len()) as u64 * price::ELEMENT) {
                    return;
                }
                self.0.resize(at + 1, None);
            }
            if !budget.keep(name.len() as u64) {
                return;
            }
            self.0[at] = Some(name);
        }
    }

    /// The name of an id.
    pub(crate) fn of(&self, id: MarkId) -> String {
        let Some(at) = id.0.checked_sub(1) else { return OTHER.to_owned() };
        // The section with the name was damaged.
        self.0.get(at as usize).cloned().flatten().unwrap_or_else(|| format!("(name {} is lost)", id.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_trace::file::records::ProcessIndex;

    #[test]
    fn names_are_found_by_their_ids_and_missing_ones_say_so() {
        let mut names = Names::default();
        let run = |first_id, names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            MarkNames { process: ProcessIndex(0), first_id, names }
        };
        names.add(run(3, &["c", ""]), &Budget::default());
        names.add(run(1, &["a"]), &Budget::default());
        names.add(run(0, &["not the other ones"]), &Budget::default());
        names.add(run(u32::MAX, &["x", "y"]), &Budget::default());
        let found: Vec<String> = (0..6).map(|id| names.of(MarkId(id))).collect();
        assert_eq!(found, [OTHER, "a", "(name 2 is lost)", "c", "", "(name 5 is lost)"]);
        assert_eq!(names.0.len(), 4);
    }
}
