//! `*.code-workspace`: several folders with settings and launches in common.

use super::{launch, settings};
use crate::json;
use crate::source::{Refused, Source};
use crate::survey::Report;
use crate::tools::{Known, Tool, has_suffix};
use std::path::Path;

#[derive(Debug)]
pub(in crate::tools) struct CodeWorkspace;

impl Tool for CodeWorkspace {
    fn id(&self) -> &'static str {
        "code-workspace"
    }

    fn about(&self) -> &'static str {
        "*.code-workspace: settings and launch configurations of several folders"
    }

    fn claims(&self, path: &Path) -> bool {
        has_suffix(path, ".code-workspace")
    }

    fn learn(&self, source: &Source, known: &mut Known) {
        if let Ok(Some(value)) = json::parse(source)
            && let Some(settings) = value.as_object().and_then(|root| json::object(root, "settings"))
        {
            settings::learn(source, settings, &source.file, true, known);
        }
    }

    fn read(&self, source: &Source, known: &Known, report: &mut Report<'_>) -> Result<(), Refused> {
        if let Some(root) = json::parse(source)?.as_ref().and_then(|value| value.as_object()) {
            if let Some(own) = json::object(root, "launch") {
                launch::read(source, own, &source.file, known, report);
            }
            if let Some(own) = json::object(root, "settings") {
                settings::read(source, own, &source.file, known, report);
            }
        }
        Ok(())
    }
}
