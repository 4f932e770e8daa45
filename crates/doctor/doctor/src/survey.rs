//! Looking at everything.

use crate::places::{Owner, Places};
use crate::report::{Report, Survey};
use crate::source::Source;
use crate::tools::{Known, TOOLS, Tool};
use crate::{sources, walk};
use std::collections::HashSet;
use std::path::Path;

/// Looks at the configuration of a folder and of its user. Nothing is changed.
pub fn survey(places: &Places) -> Survey {
    let walk = walk::walk(&places.folder);
    let mut report = Report::new(places);
    report.survey.refused.extend(walk.refused);
    let mut found: Vec<(&dyn Tool, Source)> = Vec::new();
    let mut seen = HashSet::new();
    for tool in TOOLS {
        let of_user = tool.of_user(places).into_iter().map(|file| (file, Owner::User));
        let of_project =
            walk.files.iter().filter(|file| tool.claims(file.strip_prefix(&places.folder).unwrap_or(file)));
        for (file, owner) in of_user.chain(of_project.map(|file| (file.clone(), Owner::Project))) {
            match Source::read(&file, owner, places, &mut report.room) {
                // A home folder may be the project, under another name, and a link lead to a file that is there besides.
                Ok(Some(source)) => {
                    if seen
                        .insert(std::fs::canonicalize(&source.file).unwrap_or_else(|_| source.file.clone()))
                    {
                        found.push((*tool, source));
                    }
                }
                Ok(None) => {}
                Err(refused) => report.survey.refused.push(refused),
            }
        }
    }
    read(&found, &mut report);
    sources::scan(&walk.files, &mut report);
    report.finish()
}

/// Looks at one file as if it were in a project, under this name. Of the disk, only files of variables are read that it names,
/// if they are in the project. There is nothing to see if no kind of configuration has such a name.
pub fn survey_file(name: &Path, bytes: &[u8], places: &Places) -> Survey {
    let mut report = Report::new(places);
    if let Some(tool) = TOOLS.iter().find(|tool| tool.claims(name)) {
        match Source::from_bytes(places.folder.join(name), Owner::Project, bytes.to_vec()) {
            Ok(source) => read(&[(*tool, source)], &mut report),
            Err(refused) => report.survey.refused.push(refused),
        }
    }
    report.finish()
}

fn read(found: &[(&dyn Tool, Source)], report: &mut Report<'_>) {
    let mut known = Known::default();
    for (tool, source) in found {
        tool.learn(source, &mut known);
    }
    for (tool, source) in found {
        if let Err(refused) = tool.read(source, &known, report) {
            report.survey.refused.push(refused);
        }
    }
}
