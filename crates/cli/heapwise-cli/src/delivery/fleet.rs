//! `--fleet`: recordings become rows of tables as soon as they are complete.

use super::Destination;
use crate::args::DeliveryArgs;
use crate::export::tables;
use crate::progress::Progress;
use crate::{Failure, exit};
use anyhow::anyhow;
use heapwise_analysis::Analysis;
use heapwise_report::escape::file::Existing;
use heapwise_tables::Labels;
use std::path::{Path, PathBuf};

/// A folder of tables.
pub(super) struct Fleet {
    folder: PathBuf,
    service: Option<String>,
    release: Option<String>,
}

impl Fleet {
    /// Fails if nothing could be written there.
    pub(super) fn new(folder: &Path, args: &DeliveryArgs) -> Result<Self, Failure> {
        if folder.to_str().is_some_and(|text| text.contains("://")) {
            let error = anyhow!(
                "--fleet {} is no folder of this machine: write to one, and copy it with the tools of the store",
                folder.display()
            );
            return Err(Failure::new(exit::USAGE, error));
        }
        tables::check(folder).map_err(|error| Failure::new(exit::RUN_FAILED, error))?;
        let (service, release) = (args.service.clone(), args.release.clone());
        Ok(Self { folder: folder.to_owned(), service, release })
    }
}

impl Destination for Fleet {
    fn take(&mut self, recording: &Path, analysis: &Analysis) -> anyhow::Result<()> {
        let labels = Labels::new(analysis, self.service.as_deref(), self.release.as_deref());
        let added = tables::Addition {
            folder: &self.folder,
            recording,
            analysis,
            labels: &labels,
            predictions: None,
            existing: Existing::Keep,
            progress: Progress::hidden(),
        };
        let bytes = added.write()?;
        heapwise_report::detail!("heapwise: {} bytes added to {}", bytes, self.folder.display());
        Ok(())
    }

    fn end(self: Box<Self>) {}
}
