/** What ran, what it adds up to, and what resident memory consists of, in a sentence. */

import { capital, h, prose, section, type Child } from "../dom.ts";
import { bytes, count, counted, share, time } from "../format.ts";
import type { Model } from "../model.ts";

/** `showFinding` shows one by its place in the list. */
export function head(model: Model, showFinding: (i: number) => void): HTMLElement {
  const { data } = model;
  const { totals, sampling } = data;
  const off = (bounds: string | undefined): string => (bounds ? `${bounds}; ` : "");
  const facts = [model.data.ending];
  if (data.n_processes !== 1) facts.push(counted(data.n_processes, "process", "processes"));
  if (data.threads.length !== 1) facts.push(counted(data.threads.length, "thread", "threads"));
  if (data.allocators[0]) facts.push(`allocator: ${data.allocators.slice(0, 3).join(", ")}`);
  return h(
    "section",
    { id: "summary", class: "part summary", attr: { "aria-label": "Summary" } },
    h("h1", { class: "command" }, data.command || "(no command)"),
    h("p", { class: "note" }, facts.join(" · ")),
    headline(model, showFinding),
    verdict(model),
    h(
      "dl",
      { class: "tiles" },
      ...tile("Peak RSS", data.peak_rss > 0 ? bytes(data.peak_rss) : "–", data.peak_rss > 0 ? data.rss_note : "was not measured"),
      ...(data.carried ? tile("Live at the start", bytes(data.carried[0]), `in ${counted(data.carried[1], "block", "blocks")}, from the file before`) : []),
      ...tile(
        "Peak live",
        bytes(totals.peak_bytes),
        `${off(sampling?.peak_bytes)}in ${counted(totals.peak_blocks, "block", "blocks")}, after ${time(data.peak_live_at_ns)}`,
      ),
      ...tile(
        "Allocations",
        count(totals.allocations),
        `${off(sampling?.allocations)}${bytes(totals.bytes)} requested, ${bytes(totals.bytes / Math.max(1, totals.allocations + totals.reallocations))} a request`,
      ),
      // A sample does not have the block that follows.
      ...(sampling ? [] : tile(
        "Temporary",
        share(totals.temporary, totals.allocations),
        `${count(totals.temporary)} freed before the next allocation`,
      )),
      ...tile("Reallocations", count(totals.reallocations), "a buffer that grows, for instance"),
      ...tile(
        "Live at exit",
        bytes(totals.exit_bytes),
        exitNote(model),
      ),
    ),
  );
}

function tile(name: string, value: string, note: string): HTMLElement[] {
  return [h("div", { class: "tile" }, h("dt", {}, name), h("dd", { class: "value" }, value), h("dd", { class: "note" }, note))];
}

function exitNote(model: Model): string {
  const { exit_bytes, exit_blocks, never_freed_bytes } = model.data.totals;
  const note = exit_blocks === 0 ? "everything was freed" : `in ${counted(exit_blocks, "block", "blocks")}`;
  return never_freed_bytes > exit_bytes
    ? `${note} at once; ${bytes(never_freed_bytes)} never freed, in all processes`
    : note;
}

/** The most valuable finding, or that none is worth a change: what a terminal shows first, too. */
function headline(model: Model, showFinding: (i: number) => void): HTMLElement | null {
  const { findings, worth, nothing } = model.data;
  const first = worth[0];
  if (first === undefined) return nothing ? h("p", { class: "headline" }, capital(nothing)) : null;
  const link = h("button", { attr: { type: "button" }, on: { click: () => showFinding(first) } }, ...prose(findings[first]?.title ?? ""));
  return h("p", { class: "headline" }, h("strong", {}, "Change first: "), link);
}

/** The verdict, or what can be said without one. */
function verdict(model: Model): HTMLElement {
  const { verdict: found, totals, peak_rss } = model.data;
  if (found) {
    return h(
      "div",
      { class: "verdict", attr: { "data-verdict": found.kind } },
      h("p", { class: "sentence" }, ...prose(found.sentence)),
      found.remedy ? h("p", { class: "remedy" }, h("strong", {}, "What to do: "), ...prose(found.remedy)) : null,
    );
  }
  if (totals.allocations + totals.reallocations + totals.deallocations + totals.failed === 0) {
    return h("div", { class: "verdict" }, h("p", { class: "sentence" }, "No allocation was seen."));
  }
  const live = `${bytes(totals.peak_bytes)} in ${counted(totals.peak_blocks, "block", "blocks")}`;
  const sentence =
    peak_rss > 0
      ? `At most ${bytes(peak_rss)} were resident. The heap's live data came to ${live} at their peak.`
      : `The heap's live data came to ${live} at their peak.`;
  return h("div", { class: "verdict" }, h("p", { class: "sentence" }, sentence));
}

/** What could not be seen. */
export function caveats(model: Model): HTMLElement | null {
  const { caveats: list, captures, cut_captures, totals } = model.data;
  const rows: Child[] = list.map((caveat) =>
    h(
      "li",
      { class: caveat.blind ? "blind" : "" },
      h("strong", {}, caveat.blind ? "Not seen: " : "Warning: "),
      ...prose(caveat.what),
      caveat.hint ? h("span", { class: "note" }, " ", ...prose(caveat.hint)) : null,
    )
  );
  if (captures > 0 && cut_captures / captures >= 0.01) {
    rows.push(
      h(
        "li",
        {},
        h("strong", {}, "Warning: "),
        `${share(cut_captures, captures)} of the stacks end before the thread's first function.`,
        h("span", { class: "note" }, " Their inner frames are right; code without unwind tables, or more than 16,384 frames, are below them."),
      ),
    );
  }
  if (totals.failed > 0) {
    rows.push(h("li", {}, `${counted(totals.failed, "call was", "calls were")} refused by the allocator.`));
  }
  if (rows.length === 0) return null;
  return section("caveats", "Warnings", "", h("ul", { class: "caveats" }, ...rows));
}
