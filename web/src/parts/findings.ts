/** The findings, or the places that stand out. */

import type { Finding, Standout } from "../data.ts";
import { capital, h, prose, section, type Child } from "../dom.ts";
import { bytes, count, share, time } from "../format.ts";
import type { Model } from "../model.ts";
import { excerpt, place, sourceButton, type SourceLink } from "./source.ts";

/** Shown at once; the others on demand. */
const FIRST = 5;
const SEVERITY: Record<string, string> = { high: "High", medium: "Medium", low: "Low" };
const CERTAINTY: Record<string, string> = {
  certain: "the events prove it",
  likely: "likely: other causes would be unusual",
  hint: "a hint: other causes would look the same",
};

export interface Links {
  /** Shows the call sites that a text matches. */
  sites: (text: string) => void;
  /** Shows a frame in the flame graph. */
  flame: (text: string) => void;
  /** Shows the line of a frame in its file, if that is in the page. */
  source: SourceLink;
}

export function findings(model: Model, links: Links): HTMLElement {
  const { findings, nothing } = model.data;
  if (findings.length > 0) {
    const cards = findings.map((finding, i) => findingCard(model, finding, i, links));
    return section(
      "findings",
      "Findings",
      "The most rewarding comes first. Savings are estimates from this run.",
      nothing ? h("p", {}, capital(nothing)) : null,
      ...folded(cards),
    );
  }
  const { standouts, only_recorded } = model.data;
  const notes = [only_recorded, nothing].filter((note) => !!note).map((note) => h("p", {}, capital(note!)));
  if (standouts.length === 0) {
    return section("findings", "Findings", "", ...notes, h("p", { class: "empty" }, "No place stands out."));
  }
  return section(
    "findings",
    "Findings",
    "No rule found a known mistake. These places of your code stand out.",
    ...notes,
    ...standouts.map((standout, i) => standoutCard(model, standout, i, links)),
  );
}

function folded(cards: HTMLElement[]): Child[] {
  const rest = cards.slice(FIRST);
  if (rest.length === 0) return cards;
  const summary = h("summary", {}, `${rest.length} more ${rest.length === 1 ? "finding" : "findings"}`);
  return [...cards.slice(0, FIRST), h("details", { class: "more" }, summary, ...rest)];
}

function findingCard(model: Model, finding: Finding, i: number, links: Links): HTMLElement {
  const sites = finding.site === null ? finding.sites : [finding.site, ...finding.sites];
  const known = sites.filter((site) => site < model.nSites);
  const frame = known[0] === undefined ? undefined : model.userFrame(known[0]);
  const { totals, duration_ns, peak_rss } = model.data;
  const savings: Child[] = [];
  if (finding.allocations > 0) savings.push(saving(count(finding.allocations), "allocations", finding.allocations, totals.allocations));
  if (finding.reallocations > 0) {
    savings.push(saving(count(finding.reallocations), "reallocations", finding.reallocations, totals.reallocations));
  }
  if (finding.bytes > 0) savings.push(saving(bytes(finding.bytes), "requested", finding.bytes, totals.bytes));
  if (finding.peak_bytes > 0) {
    savings.push(saving(bytes(finding.peak_bytes), "at the peak", finding.peak_bytes, peak_rss || totals.peak_bytes));
  }
  if (finding.time_ns > 0) savings.push(saving(time(finding.time_ns), "of the run", finding.time_ns, duration_ns));
  return h(
    "article",
    { class: `card severity-${finding.severity}`, attr: { "data-finding": finding.id, "data-place": String(i) } },
    h(
      "header",
      {},
      h("p", { class: "badges" }, h("span", { class: "badge" }, SEVERITY[finding.severity] ?? finding.severity), h("span", { class: "note" }, `${finding.id} · ${CERTAINTY[finding.certainty] ?? finding.certainty}`)),
      h("h3", {}, h("span", { class: "rank" }, `${i + 1}`), h("span", {}, ...prose(finding.title))),
      frame === undefined ? null : h("p", {}, place(model, frame)),
    ),
    savings.length > 0 ? h("p", { class: "savings" }, h("span", { class: "note" }, "Would save about"), ...savings) : null,
    excerpt(model, known.map((site) => model.userFrame(site)), false),
    h(
      "div",
      { class: "advice" },
      h("h4", {}, "What to do"),
      h("p", { class: "remedy" }, ...prose(finding.remedy)),
    ),
    finding.evidence.length > 0
      ? h(
        "div",
        { class: "evidence" },
        h("h4", {}, "What was seen"),
        h("ul", {}, ...finding.evidence.map((text) => h("li", {}, ...prose(text)))),
      )
      : null,
    frame === undefined ? null : actions(model, frame, links),
  );
}

function saving(amount: string, what: string, part: number, whole: number): HTMLElement {
  return h("span", { class: "saving" }, h("strong", {}, amount), ` ${what}`, whole > 0 ? h("span", { class: "note" }, ` ${share(part, whole)}`) : null);
}

function actions(model: Model, frame: number, links: Links): HTMLElement {
  const { place: where, name } = model.frame(frame);
  const text = model.data.frames.line[frame] ? where : name;
  return h(
    "p",
    { class: "actions" },
    h("button", { attr: { type: "button" }, on: { click: () => links.sites(text) } }, "Call sites"),
    h("button", { attr: { type: "button" }, on: { click: () => links.flame(text) } }, "Flame graph"),
    sourceButton(links.source, frame),
  );
}

const HELPS: Record<string, string> = {
  allocated_bytes: "The system has to fill each new page with zeros: keep such blocks and use them again.",
  allocations: "Borrow instead of copying, reuse a buffer, or reserve the size beforehand.",
  peak_bytes: "This is what the highest memory use consists of: hold less at once, or a smaller form of it.",
  temporary_allocations: "Blocks that are freed at once are often not needed at all: borrow, or keep a buffer and clear it.",
  live_at_exit_bytes: "Leaked, or kept on purpose.",
};

function standoutCard(model: Model, { sites, facts }: Standout, i: number, links: Links): HTMLElement {
  const frame = model.userFrame(sites[0]!);
  const helps = new Set(facts.map(([measure]) => HELPS[measure] ?? ""));
  return h(
    "article",
    { class: "card severity-standout", attr: { "data-standout": String(i) } },
    h("header", {}, h("h3", {}, h("span", { class: "rank" }, `${i + 1}`), place(model, frame))),
    h("ul", { class: "facts" }, ...facts.map(([, what]) => h("li", {}, what))),
    excerpt(model, sites.map((site) => model.userFrame(site)), false),
    h("p", { class: "remedy" }, [...helps].join(" ")),
    actions(model, frame, links),
  );
}
