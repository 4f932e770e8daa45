//! One row for each stack.

use crate::column::{Column, Kind, Value};
use crate::rows::Rows;
use crate::source::Source;
use crate::table::Table;

pub(super) static TABLE: Table = Table {
    name: "stacks",
    about: "one row for each stack of a recording's `sites`; a stack of several recordings is as many equal rows",
    columns: &[
        Column::new("stack_id", Kind::Id, "SHA-256 of the bytes of its frames' ids, the first 128 bits"),
        Column::new(
            "frame_ids",
            Kind::Ids,
            "its frames, in `frames`, from the innermost outwards; of more than 512 the middle is one frame of its own",
        ),
    ],
    is_sparse: false,
    fill,
};

fn fill(source: &Source<'_>, rows: &mut Rows) {
    for site in &source.stacks.sites {
        if let Some(stack) = site.stack {
            rows.add([stack.into(), Value::Ids(&site.frames)]);
        }
    }
}
