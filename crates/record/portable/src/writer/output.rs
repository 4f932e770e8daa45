//! The file, which holds whole sections at any time.

use heapwise_trace::file::records::Meta;
use heapwise_trace::file::{Error, ErrorKind, Writer};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// Writes several sections at once. What did not get into the file as a whole is cut off again.
#[derive(Debug)]
pub(super) struct Output<'a> {
    file: &'a File,
    written: u64,
    buffer: Vec<u8>,
}

impl<'a> Output<'a> {
    pub(super) fn begin(file: &'a File, meta: &Meta) -> io::Result<Self> {
        let mut output = Self { file, written: 0, buffer: Vec::new() };
        let begun = Writer::new(Vec::new(), meta).map_err(io_error)?;
        output.put(begun.into_inner())?;
        Ok(output)
    }

    /// Writes the sections that a function makes.
    pub(super) fn write(
        &mut self,
        make: impl FnOnce(&mut Writer<Vec<u8>>) -> Result<(), Error>,
    ) -> io::Result<()> {
        let mut writer = Writer::append(std::mem::take(&mut self.buffer));
        make(&mut writer).map_err(io_error)?;
        self.put(writer.into_inner())
    }

    fn put(&mut self, mut sections: Vec<u8>) -> io::Result<()> {
        if let Err(error) = self.file.write_all(&sections) {
            // If that fails, too, a reader finds a section that is cut off.
            let _ = self.file.set_len(self.written);
            let _ = self.file.seek(SeekFrom::Start(self.written));
            return Err(error);
        }
        self.written += sections.len() as u64;
        sections.clear();
        self.buffer = sections;
        Ok(())
    }

    /// How long the file is, which is on its disk now as far as the system knows.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        self.file.flush()?;
        Ok(self.written)
    }
}

fn io_error(error: Error) -> io::Error {
    match error.kind() {
        ErrorKind::Io(inner) => io::Error::new(inner.kind(), inner.to_string()),
        _ => io::Error::other(error.to_string()),
    }
}
