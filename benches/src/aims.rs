//! What recording may cost at most, and whether it does.

use crate::run::Run;
use crate::series::Series;
use crate::tools::Kind;
use heapwise_trial::statistics::Spread;

/// At most this share of the time that heaptrack adds, and of the processor time.
const SHARE_OF_HEAPTRACK: f64 = 0.05;
const SHARE_OF_PROCESSOR_TIME: f64 = 0.1;
/// The contest program takes at most so many times its own time.
const CONTEST_TIMES_NATIVE: f64 = 1.2;
const BYTES_PER_EVENT: f64 = 2.0;
/// Seconds from the end to the report, of thirty million events and of 72 million.
const REPORT_SECONDS: [(&str, f64); 2] = [("events30m", 1.0), ("python_json", 3.0)];

/// One aim for one workload.
#[derive(Debug)]
struct Aim {
    what: &'static str,
    workload: &'static str,
    limit: f64,
    measured: Option<Spread>,
}

impl Aim {
    /// The median decides.
    fn verdict(&self) -> &'static str {
        match self.measured {
            None => "not measured",
            Some(spread) if spread.median <= self.limit => "met",
            Some(_) => "**MISSED**",
        }
    }
}

/// One row per aim and workload.
pub(crate) fn table(all: &[Series]) -> String {
    let mut text = String::from("| aim | workload | at most | measured | |\n|---|---|---:|---:|---|\n");
    for aim in all.iter().flat_map(aims) {
        let measured = aim.measured.map_or_else(|| "–".to_owned(), |spread| format!("{spread:.3}"));
        let Aim { what, workload, limit, .. } = aim;
        text.push_str(&format!("| {what} | {workload} | {limit} | {measured} | {} |\n", aim.verdict()));
    }
    text
}

fn aims(series: &Series) -> Vec<Aim> {
    let heapwise = |number: &dyn Fn(&Run) -> Option<f64>| series.of(Kind::Heapwise, number);
    let aim = |what, limit, measured| Aim {
        what,
        workload: series.workload,
        limit,
        measured: Spread::of(measured),
    };
    let mut aims = vec![
        aim("bytes per event", BYTES_PER_EVENT, heapwise(&Run::bytes_per_event)),
        aim("events lost", 0.0, heapwise(&|run| Some(run.events?.lost as f64))),
    ];
    if series.is_compared {
        let (time, processor_time) = (series.share_of_heaptrack(), series.share_of_processor_time());
        aims.insert(0, aim("added time / heaptrack's added time", SHARE_OF_HEAPTRACK, time));
        aims.insert(
            1,
            aim("added processor time / heaptrack's added one", SHARE_OF_PROCESSOR_TIME, processor_time),
        );
    }
    if series.workload == "contest" {
        aims.push(aim("time / time alone", CONTEST_TIMES_NATIVE, series.times_native(Kind::Heapwise)));
    }
    if let Some((_, limit)) = REPORT_SECONDS.iter().find(|(workload, _)| *workload == series.workload) {
        let seconds = heapwise(&|run| Some(run.seconds_after_the_program()));
        aims.push(aim("seconds from the end to the report", *limit, seconds));
    }
    aims
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::tests::series;

    fn row(text: &str, aim: &str) -> String {
        text.lines().find(|line| line.contains(aim)).unwrap_or_else(|| panic!("{aim} in {text}")).to_owned()
    }

    #[test]
    fn an_aim_is_met_or_missed_by_the_median() {
        // Shares of heaptrack's added time: 0.25, 0.025 and 0.05.
        let text = table(&[series("contest", &[[1.0, 1.5, 3.0], [1.0, 1.1, 5.0], [1.0, 1.4, 9.0]])]);
        let share = row(&text, "heaptrack's added time");
        assert!(share.ends_with("| 0.05 | 0.050 (0.025..0.250) | met |"), "{share}");
        let alone = row(&text, "time alone");
        assert!(alone.ends_with("| 1.2 | 1.400 (1.100..1.500) | **MISSED** |"), "{alone}");
        assert!(row(&text, "bytes per event").ends_with("| met |"));
        assert!(row(&text, "events lost").ends_with("| met |"));
    }

    #[test]
    fn rounds_in_which_heaptrack_adds_nothing_do_not_count() {
        let text = table(&[series("mt", &[[1.0, 1.5, 1.0], [1.0, 1.5, 0.9]])]);
        assert!(row(&text, "heaptrack's added time").ends_with("| – | not measured |"));
    }

    #[test]
    fn the_report_is_timed_after_thirty_million_events() {
        let alone = Series { is_compared: false, ..series("events30m", &[[1.0, 1.5, 3.0]]) };
        let text = table(&[alone]);
        assert!(!text.contains("heaptrack"), "{text}");
        assert!(row(&text, "to the report").ends_with("| 1 | 1.250 (1.250..1.250) | **MISSED** |"));
        assert!(!text.contains("time alone"));
    }
}
