//! The addresses of a recording without its analysis: what has to be known to store names in it.

use crate::analyze::{Options, Run};
use crate::arriving;
use crate::budget::Budget;
use crate::error::Error;
use crate::stacks::frame::ImageAddresses;
use crate::stacks::stack_table::{Entry, StackTable};
use heapwise_trace::event::StackId;
use heapwise_trace::file::reader::{Reader, Section};
use std::io::Read;

/// All addresses of stacks that a recording has, ready to be looked up. Events are not looked at, so these may be a few more than
/// [`Unnamed::needed_addresses`](crate::Unnamed::needed_addresses) of the same recording. `progress` gets the bytes that were read,
/// after each section.
///
/// # Errors
/// Only if the stream cannot be read.
pub fn addresses<R: Read + Send>(
    mut reader: Reader<R>,
    options: &Options,
    mut progress: impl FnMut(u64),
) -> Result<Vec<ImageAddresses>, Error> {
    let mut run = Run::<()>::new(Budget::new(options.memory));
    arriving::each(&mut reader, |arrived| {
        let end = arrived.end;
        let is_about_stacks = match &arrived.section {
            Ok(Some(section)) => {
                matches!(section, Section::Process(_) | Section::Module(_) | Section::Nodes(_))
            }
            Ok(None) | Err(_) => true,
        };
        let goes_on = !is_about_stacks || run.take(arrived)?;
        progress(end);
        Ok::<_, Error>(goes_on)
    })?;
    Ok(run.all_addresses())
}

impl Run {
    /// Those of all stacks that were recorded, in their order.
    fn all_addresses(&mut self) -> Vec<ImageAddresses> {
        self.processes.iter_mut().for_each(|process| process.modules.close());
        let mut stack_table = StackTable::default();
        for (slot, process) in self.processes.iter().enumerate() {
            let mut entry = Entry::new(slot as u32, &process.raw, self.modules_of(slot));
            for id in process.raw.ids() {
                stack_table.enter(&mut entry, StackId(id));
            }
        }
        stack_table.wanted(0, &self.images)
    }
}
