//! What an article says, and whether it is so on this machine.

use super::found::Found;
use super::plan::Sizes;

/// A sentence of an article about something that was measured.
pub(in crate::lab) struct Claim {
    /// What is claimed, in a few words.
    pub(in crate::lab) what: &'static str,
    /// The article's figures. Empty if it does not say this.
    pub(in crate::lab) article: &'static str,
    /// What was measured here. `None` if it was not.
    pub(in crate::lab) here: fn(&Found) -> Option<Judgement>,
}

/// What this machine shows.
pub(in crate::lab) struct Judgement {
    /// Our figures.
    pub(in crate::lab) figures: String,
    pub(super) verdict: Verdict,
    /// Why it is as it is, in a sentence.
    pub(in crate::lab) why: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Reproduces,
    DoesNot,
    /// Nothing here can show it.
    CannotShow,
}

impl Verdict {
    pub(super) fn words(self, claim: &Claim) -> &'static str {
        match (self, claim.article.is_empty()) {
            (Self::Reproduces, false) => "reproduces",
            (Self::DoesNot, false) => "does not reproduce",
            (Self::Reproduces, true) => "is so here",
            (Self::DoesNot, true) => "is not so here",
            (Self::CannotShow, _) => "cannot be shown here",
        }
    }
}

impl Judgement {
    /// It reproduces, or does not.
    pub(in crate::lab) fn of(reproduces: bool, figures: String, why: &'static str) -> Self {
        let verdict = if reproduces { Verdict::Reproduces } else { Verdict::DoesNot };
        Self { figures, verdict, why }
    }

    /// This machine lacks what it needs.
    pub(in crate::lab) fn cannot(figures: String, why: &'static str) -> Self {
        Self { figures, verdict: Verdict::CannotShow, why }
    }
}

impl Claim {
    pub(super) fn judged(&self, found: &Found, sizes: &Sizes) -> Judgement {
        match (self.here)(found) {
            None => Judgement::cannot("not measured".to_owned(), ""),
            Some(judgement) if sizes.are_small() => {
                Judgement::cannot(judgement.figures, "at this scale too little is done")
            }
            Some(judgement) => judgement,
        }
    }
}

/// A sentence for each claim.
pub(super) fn conclusion(judged: &[(&Claim, Judgement)]) -> Vec<String> {
    judged.iter().map(|(claim, judgement)| sentence(claim, judgement)).collect()
}

fn sentence(claim: &Claim, judgement: &Judgement) -> String {
    let figures = match claim.article {
        "" => format!("{} here", judgement.figures),
        article => format!("{} here, {article} in the article", judgement.figures),
    };
    let why = if judgement.why.is_empty() { String::new() } else { format!(": {}", judgement.why) };
    format!("“{}” {} ({figures}){why}.", claim.what, judgement.verdict.words(claim))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(article: &'static str) -> Claim {
        Claim { what: "it returns all", article, here: |_| None }
    }

    fn judgement(reproduces: bool, why: &'static str) -> Judgement {
        Judgement::of(reproduces, "97 %".to_owned(), why)
    }

    #[test]
    fn a_claim_is_repeated_with_its_figures_and_ours() {
        let text = |article, reproduces, why| sentence(&claim(article), &judgement(reproduces, why));
        let expected = "“it returns all” reproduces (97 % here, 99 % in the article): no block is left.";
        assert_eq!(text("99 %", true, "no block is left"), expected);
        assert_eq!(
            text("99 %", false, ""),
            "“it returns all” does not reproduce (97 % here, 99 % in the article)."
        );
        assert_eq!(text("", true, ""), "“it returns all” is so here (97 % here).");
    }
}
