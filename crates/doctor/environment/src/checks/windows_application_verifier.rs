//! The application verifier: libraries of Microsoft's that stand between a program and the system and check calls.

use super::Check;
use crate::facts::windows::APPLICATION_VERIFIER;
use crate::{Facts, Finding, Severity};

pub(super) struct WindowsApplicationVerifier;

impl Check for WindowsApplicationVerifier {
    fn id(&self) -> &'static str {
        "windows-application-verifier"
    }

    fn about(&self) -> &'static str {
        "the application verifier checks the program's calls, those of the heap among them"
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let Some(windows) = facts.windows.as_ref().filter(|w| w.has_flag(APPLICATION_VERIFIER)) else {
            return Vec::new();
        };
        let title = format!("the program {} its heap checked by the application verifier", facts.has());
        let remedy = "as administrator: appverif -disable * -for PROGRAM.exe";
        let mut finding = Finding::new(self.id(), Severity::High, title, remedy);
        finding.evidence.extend(windows.nt_global_flag.map(|flag| format!("NtGlobalFlag is {flag:#x}")));
        for options in &windows.image_options {
            if let Some(libraries) = &options.verifier_dlls {
                finding.evidence.push(format!("VerifierDlls={libraries} in {}", options.key));
            }
        }
        vec![finding.costs(
            "with its basic checks as much as page heap, which they include (documented by Microsoft)",
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{ImageOptions, WindowsHeap};

    #[test]
    fn the_flag_counts_and_libraries_are_evidence() {
        let options = ImageOptions {
            global_flag: Some(0x100),
            verifier_dlls: Some("vrfcore.dll".into()),
            ..ImageOptions::default()
        };
        let look = |flag| {
            let windows = WindowsHeap {
                nt_global_flag: flag,
                image_options: vec![options.clone()],
                ..WindowsHeap::default()
            };
            WindowsApplicationVerifier.look(&Facts { windows: Some(windows), ..Facts::default() })
        };
        assert_eq!(look(Some(0)), [], "it was turned on after the process began");
        for found in [look(Some(0x100)), look(None)] {
            assert!(found[0].evidence.iter().any(|line| line.contains("vrfcore.dll")), "{found:?}");
        }
    }
}
