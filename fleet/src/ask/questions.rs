//! The registry of questions: a file of SQL each, and one table that lists them.

/// Their names and their SQL, which begins with what they answer.
pub(crate) const QUESTIONS: &[(&str, &str)] = &[
    ("growth", include_str!("../../../crates/fleet/tables/questions/growth.sql")),
    ("regressions", include_str!("../../../crates/fleet/tables/questions/regressions.sql")),
    ("leaks-by-host", include_str!("../../../crates/fleet/tables/questions/leaks_by_host.sql")),
    ("outliers", include_str!("../../../crates/fleet/tables/questions/outliers.sql")),
    ("top-sites", include_str!("../../../crates/fleet/tables/questions/top_sites.sql")),
    ("allocator-overhead", include_str!("../../../crates/fleet/tables/questions/overhead_of_allocators.sql")),
    ("allocator-switch", include_str!("../../../crates/fleet/tables/questions/allocator_switch.sql")),
    ("debug-environments", include_str!("../../../crates/fleet/tables/questions/debug_environments.sql")),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::Question;

    #[test]
    fn each_file_is_listed_and_says_what_it_answers() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/fleet/tables/questions");
        let files = std::fs::read_dir(folder).expect("the folder").count();
        assert_eq!(files, QUESTIONS.len());
        for (name, sql) in QUESTIONS {
            let about = Question::new(sql).about();
            assert!(about.ends_with('?') && about.len() > 20, "{name}: {about}");
        }
    }
}
