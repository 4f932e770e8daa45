//! One row for each function of a build that is on a stack.

use crate::column::{Column, Kind, unless_empty};
use crate::rows::Rows;
use crate::source::Source;
use crate::table::Table;

pub(super) static TABLE: Table = Table {
    name: "frames",
    about: "one row for each function and build on the stacks of a recording; the same function has the same id in all builds",
    columns: &[
        Column::new(
            "frame_id",
            Kind::Id,
            "SHA-256 of the module, a zero byte and the function, the first 128 bits; a frame without a name has the build id in between, or the recording if there is none",
        ),
        Column::new("module", Kind::Text, "the file's name without folder and version"),
        Column::optional("build_id", Kind::Text, "the build id of that file"),
        Column::new(
            "function",
            Kind::Text,
            "the function without what differs from build to build; or the module and an address",
        ),
        Column::optional("file", Kind::Text, "its source file in this build"),
        Column::optional("line", Kind::Integer, "a line of it that was on a stack in this build"),
    ],
    is_sparse: false,
    fill,
};

fn fill(source: &Source<'_>, rows: &mut Rows) {
    for frame in &source.stacks.frames {
        rows.add([
            frame.id.into(),
            frame.module.as_str().into(),
            unless_empty(frame.build_id).into(),
            frame.function.as_str().into(),
            frame.file.into(),
            frame.line.into(),
        ]);
    }
}
