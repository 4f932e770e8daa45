//! A name is copied to be compared, and kept if it is better than those before, as authors are in the article.

/// So many of the best are kept.
const BEST: usize = 8;

pub(super) fn before(texts: &[String]) -> u64 {
    let mut best: Vec<String> = Vec::new();
    let mut kept = 0;
    for text in texts {
        let name = text.clone();
        let is_better = best.len() < BEST || best.iter().any(|other| other.len() < name.len());
        if is_better && !best.contains(&name) {
            if best.len() == BEST {
                best.remove(0);
            }
            best.push(name);
            kept += 1;
        }
    }
    kept + letters(best.iter().map(String::as_str))
}

pub(super) fn after(texts: &[String]) -> u64 {
    let mut best: Vec<&str> = Vec::new();
    let mut kept = 0;
    for text in texts {
        let name = text.as_str();
        let is_better = best.len() < BEST || best.iter().any(|other| other.len() < name.len());
        if is_better && !best.contains(&name) {
            if best.len() == BEST {
                best.remove(0);
            }
            best.push(name);
            kept += 1;
        }
    }
    kept + letters(best.into_iter())
}

fn letters<'a>(texts: impl Iterator<Item = &'a str>) -> u64 {
    texts.map(|text| text.len() as u64).sum()
}
