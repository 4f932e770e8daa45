//! Fills `heapwise.annotate/1`.

use super::{Annotation, View, owner_id, text_of};
use crate::json::{blind_spot, warning};
use crate::schema::annotate::{self as schema, Annotated, File, Finding, Line, Source};
use crate::source::shown;
use heapwise_diagnosis::{Costs, FileCosts};

pub(super) fn json(annotation: &Annotation<'_>, view: &View<'_, '_>) -> String {
    let analysis = annotation.analysis;
    let (files, lines, source) = match view {
        View::Files => (annotation.files.iter().map(|of| file(annotation, of)).collect(), None, None),
        View::Lines(of, found) => {
            let text = text_of(of, found.as_ref().map_err(|why| *why));
            let source = Source {
                absence: text.as_ref().err().map(|why| why.id().to_owned()),
                what: text.as_ref().err().map(|why| why.in_words().0.to_owned()),
            };
            let text = text.ok();
            let lines = lines(annotation, of, text.as_deref());
            (vec![file(annotation, of)], Some(lines), Some(source))
        }
    };
    crate::schema::compact(&Annotated {
        blind_spots: analysis.blind_spots.iter().map(blind_spot).collect(),
        command: analysis.meta.command.clone(),
        files,
        findings: annotation.diagnosis.findings.iter().map(finding).collect(),
        lines,
        n_files: annotation.files.len(),
        schema: schema::SCHEMA.to_owned(),
        source,
        warnings: analysis.warnings.iter().map(warning).collect(),
    })
}

fn file(annotation: &Annotation<'_>, file: &FileCosts<'_>) -> File {
    File {
        findings: annotation.findings.of_file(file.path).to_vec(),
        module: file.module.map(|module| module.path.clone()),
        own: costs(&file.own),
        owner: owner_id(file.owner).to_owned(),
        path: file.path.to_owned(),
        with_callees: costs(&file.whole),
    }
}

fn lines(annotation: &Annotation<'_>, file: &FileCosts<'_>, text: Option<&[&str]>) -> Vec<Line> {
    let line = |line: &heapwise_analysis::LineSums<'_, Costs>| Line {
        findings: annotation.findings.of_line(file.path, line.number).to_vec(),
        function: line.function.map(str::to_owned),
        line: line.number,
        own: costs(&line.own),
        text: text.and_then(|lines| lines.get(line.number as usize - 1)).map(|line| shown(line)),
        with_callees: costs(&line.whole),
    };
    file.lines.iter().map(line).collect()
}

fn costs(costs: &Costs) -> schema::Costs {
    schema::Costs {
        allocated_bytes: costs.allocated_bytes,
        allocations: costs.allocations,
        estimated_time_ns: costs.time.0,
        peak_bytes: costs.peak_bytes,
        reallocations: costs.reallocations,
        temporary_allocations: costs.temporary_allocations,
    }
}

fn finding(finding: &heapwise_diagnosis::Finding) -> Finding {
    Finding {
        certainty: finding.certainty.id().to_owned(),
        id: finding.id.to_owned(),
        severity: finding.severity.id().to_owned(),
        title: finding.title.clone(),
    }
}
