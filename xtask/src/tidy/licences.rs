//! The licences of all packages that are built, against the list in deny.toml. `cargo deny check` looks at the same
//! list and at much else, but it may not be installed.

use super::Problem;
use super::packages::{Package, Packages};
use super::tree::Tree;
use anyhow::{Context, Result};
use spdx::{Expression, ParseMode};

const LIST: &str = "deny.toml";

/// Finds packages under licences that are not in the list.
pub(super) fn check(tree: &Tree, packages: &Packages) -> Result<Vec<Problem>> {
    let text = tree.get(LIST).with_context(|| format!("{LIST} is missing"))?;
    let table: toml::Table = text.parse().with_context(|| format!("{LIST} is not valid"))?;
    let allowed = allowed(&table)?;
    let problems = packages.all.iter().filter_map(|package| {
        let own = exceptions(&table, &package.name);
        problem(package, &[allowed.as_slice(), &own].concat())
    });
    Ok(problems.collect())
}

fn allowed(table: &toml::Table) -> Result<Vec<String>> {
    let list = table.get("licenses").and_then(|licences| licences.get("allow"));
    let list = list.filter(|list| list.is_array());
    Ok(strings(list.with_context(|| format!("{LIST} has no list licenses.allow"))?))
}

/// What is allowed for one package alone.
fn exceptions(table: &toml::Table, package: &str) -> Vec<String> {
    let list = table.get("licenses").and_then(|licences| licences.get("exceptions")?.as_array());
    let of_package = list
        .into_iter()
        .flatten()
        .filter(|exception| exception.get("crate").and_then(toml::Value::as_str) == Some(package));
    of_package.filter_map(|exception| exception.get("allow")).flat_map(strings).collect()
}

fn strings(list: &toml::Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

fn problem(package: &Package, allowed: &[String]) -> Option<Problem> {
    let Some(licence) = &package.licence else {
        return Some(Problem::new(&package.name, "names no licence"));
    };
    // Old packages write a slash where an `OR` is meant.
    let mode = ParseMode { allow_slash_as_or_operator: true, ..ParseMode::STRICT };
    let Ok(expression) = Expression::parse_mode(licence, mode) else {
        return Some(Problem::new(&package.name, format!("has a licence that cannot be read: {licence}")));
    };
    let accepted = expression.evaluate(|required| allowed.contains(&required.to_string()));
    (!accepted)
        .then(|| Problem::new(&package.name, format!("has a licence that {LIST} does not allow: {licence}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    fn package(name: &str, licence: Option<&str>) -> Package {
        Package { name: name.to_owned(), licence: licence.map(str::to_owned), ..Package::default() }
    }

    #[test]
    fn licences_outside_of_the_list_are_found() {
        let list = "[licenses]\nallow = [\n  \"MIT\", # short\n  \"Apache-2.0 WITH LLVM-exception\",\n]\n";
        let list =
            format!("{list}[[licenses.exceptions]]\ncrate = \"excepted\"\nallow = [\"GPL-3.0-only\"]\n");
        let list = list.as_str();
        let all = vec![
            package("excepted", Some("GPL-3.0-only")),
            package("one", Some("MIT")),
            package("either", Some("GPL-3.0-only OR MIT")),
            package("old", Some("MIT/Apache-2.0")),
            package("exception", Some("Apache-2.0 WITH LLVM-exception")),
            package("both", Some("MIT AND Apache-2.0")),
            package("other", Some("GPL-3.0-only")),
            package("nonsense", Some("see the website")),
            package("none", None),
        ];
        let found = lines(&check(&Tree::from([(LIST, list)]), &Packages { all }).unwrap());
        assert_eq!(
            found,
            [
                "both: has a licence that deny.toml does not allow: MIT AND Apache-2.0",
                "other: has a licence that deny.toml does not allow: GPL-3.0-only",
                "nonsense: has a licence that cannot be read: see the website",
                "none: names no licence",
            ]
        );
    }

    #[test]
    fn a_list_that_is_not_there_is_an_error() {
        for text in ["[licenses]\n", "[licenses\n", "[licenses]\nallow = \"MIT\"\n"] {
            assert!(check(&Tree::from([(LIST, text)]), &Packages::default()).is_err(), "{text}");
        }
        assert!(check(&Tree::default(), &Packages::default()).is_err());
    }
}
