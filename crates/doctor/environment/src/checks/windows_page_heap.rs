//! Page heap: each block at the end of separate pages, with an inaccessible page after it.

use super::Check;
use crate::facts::windows::PAGE_HEAP;
use crate::{Facts, Finding, Severity};

pub(super) struct WindowsPageHeap;

impl Check for WindowsPageHeap {
    fn id(&self) -> &'static str {
        "windows-page-heap"
    }

    fn about(&self) -> &'static str {
        "page heap (gflags /p) puts each block on separate pages"
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let Some(windows) = facts.windows.as_ref().filter(|windows| windows.has_flag(PAGE_HEAP)) else {
            return Vec::new();
        };
        let title = format!("page heap is on: each block {} separate pages", facts.has());
        let mut finding = Finding::new(self.id(), Severity::High, title, "").costs(
            "each block takes at least two pages, 8 KiB, and two changes of the page tables (documented by Microsoft; not \
             measured here)",
        );
        finding.evidence.extend(windows.nt_global_flag.map(|flag| format!("NtGlobalFlag is {flag:#x}")));
        finding.remedy = "as administrator: gflags /p /disable PROGRAM.exe".to_owned();
        if let Some((options, flag)) = windows.asked_by(PAGE_HEAP) {
            finding.evidence.push(format!("the registry has GlobalFlag={flag:#x} in {}", options.key));
            if let Some(flags) = options.page_heap_flags {
                finding.evidence.push(format!("and PageHeapFlags={flags:#x}"));
            }
            finding.remedy = format!("as administrator: reg delete {} /f /v GlobalFlag", options.key);
        }
        vec![finding]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::WindowsHeap;

    #[test]
    fn only_its_own_flag_counts() {
        let look = |flag| {
            let windows = WindowsHeap { nt_global_flag: Some(flag), ..WindowsHeap::default() };
            WindowsPageHeap.look(&Facts { windows: Some(windows), ..Facts::default() }).len()
        };
        assert_eq!([look(0x0200_0000), look(0x0200_0070), look(0x70), look(0)], [1, 1, 0, 0]);
    }
}
