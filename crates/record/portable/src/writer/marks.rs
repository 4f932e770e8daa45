//! Names of marks.

use super::PROCESS;
use heapwise_trace::event::MarkId;
use heapwise_trace::file::tables::MarkNames;
use heapwise_trace::live::layout::MAX_MARK_NAMES;
use heapwise_trace::live::marks::id_of;
use rustc_hash::FxHashMap;

/// Each name once, as many as there is room for.
#[derive(Debug, Default)]
pub(super) struct Marks {
    ids: FxHashMap<String, MarkId>,
    /// Names that are not written yet.
    new: Vec<String>,
}

impl Marks {
    /// The id of a name; that of all other names if there is no room for it.
    pub(super) fn id(&mut self, name: String) -> MarkId {
        if let Some(&id) = self.ids.get(&name) {
            return id;
        }
        if self.ids.len() == MAX_MARK_NAMES {
            return MarkId::OTHER;
        }
        let id = id_of(self.ids.len());
        self.new.push(name.clone());
        self.ids.insert(name, id);
        id
    }

    /// Names that have come since the last time.
    pub(super) fn new_names(&mut self) -> Option<MarkNames> {
        if self.new.is_empty() {
            return None;
        }
        let first = id_of(self.ids.len() - self.new.len());
        Some(MarkNames { process: PROCESS, first_id: first.0, names: std::mem::take(&mut self.new) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_written_once() {
        let mut marks = Marks::default();
        let ids = ["load", "sort", "load"].map(|name| marks.id(name.to_owned()));
        assert_eq!(ids[0], ids[2]);
        let written = marks.new_names().expect("two are new");
        assert_eq!((written.first_id, written.names), (ids[0].0, vec!["load".to_owned(), "sort".to_owned()]));
        assert_eq!(marks.new_names(), None);
        let third = marks.id("third".to_owned());
        assert_eq!(marks.new_names().map(|names| names.first_id), Some(third.0));
        for i in 0..2 * MAX_MARK_NAMES {
            marks.id(i.to_string());
        }
        assert_eq!(marks.id("one too many".to_owned()), MarkId::OTHER);
    }
}
