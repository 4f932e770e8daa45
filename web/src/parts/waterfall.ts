/** Every resident byte and what it is there for: each bar begins where the one before ends. */

import type { AllocatorParts, Moment, OfAllocator } from "../data.ts";
import { bar, choice, h, section } from "../dom.ts";
import { bytes, count, share, time } from "../format.ts";
import type { Model } from "../model.ts";

type Term = "not_heap" | "before" | "unrecorded" | "live" | "internal_fragmentation" | "external_fragmentation" | "free_pages" | "metadata" | "unaccounted";

export const TERMS: readonly { id: Term; label: string; help: string }[] = [
  { id: "not_heap", label: "Not heap", help: "code, static data, stacks and files" },
  { id: "before", label: "From before", help: "resident when recording began: blocks from before, or free by now" },
  { id: "unrecorded", label: "Unrecorded", help: "of allocators that were not recorded, or mapped by the program itself" },
  { id: "live", label: "Live", help: "bytes that were requested and not freed" },
  { id: "internal_fragmentation", label: "Internal fragmentation", help: "usable minus requested bytes of live blocks: size classes" },
  { id: "external_fragmentation", label: "External fragmentation", help: "free bytes in pages with live blocks" },
  { id: "free_pages", label: "Free pages", help: "resident, without a live block" },
  { id: "metadata", label: "Metadata", help: "the allocator's own pages and headers" },
  { id: "unaccounted", label: "Unaccounted", help: "what is left" },
];

/** How many bytes a term has. */
const amount = (moment: Moment, id: Term): number => moment[`${id}_bytes`];

/** The bars: where each term begins and ends, as shares of the whole. */
export function steps(moment: Moment): { id: Term; bytes: number; from: number; share: number }[] {
  const whole = Math.max(1, moment.rss_bytes);
  let from = 0;
  return TERMS.map(({ id }) => {
    const part = amount(moment, id);
    const step = { id, bytes: part, from: from / whole, share: part / whole };
    from += part;
    return step;
  });
}

export function waterfall(model: Model): HTMLElement {
  const { moments } = model.data;
  const title = "Where resident memory goes";
  if (!moments[0]) {
    const text = model.data.sampling
      ? "Not measured: a sample does not say which blocks are in which page. Record without --sample for that."
      : "Not measured: the recording has no snapshot of this program's pages.";
    return section("accounting", title, "", h("p", { class: "empty" }, text));
  }
  const body = h("div", { class: "waterfall" });
  const show = (moment: Moment): void => body.replaceChildren(...drawn(moment));
  show(moments[0]);
  const options = moments.map((moment, i) => ({ id: String(i), label: moment.label }));
  const control = moments.length > 1 && moments.length <= 4
    ? choice("Moment", options, "0", (id) => show(moments[Number(id)]!))
    : moments.length > 4
    ? h(
      "select",
      { attr: { "aria-label": "Moment" }, on: { change: (e) => show(moments[Number((e.target as HTMLSelectElement).value)]!) } },
      ...options.map((o) => h("option", { attr: { value: o.id } }, o.label)),
    )
    : null;
  return section("accounting", title, "Every resident byte, and what it is there for.", control, body, allocators(model.data.by_allocator));
}

/** Each allocator's part, if there are several. */
function allocators(all: readonly OfAllocator[]): HTMLElement | null {
  if (all.length < 2) return null;
  const sum = (parts: AllocatorParts): number => Object.values(parts).reduce((a: number, b: number) => a + b, 0);
  const heads = ["Allocator", "Allocations", "Live at the peak", "Live at exit", "Resident at the peak", "Of it free pages", "Resident at the end", "Of it free pages"];
  const row = (of: OfAllocator): HTMLElement =>
    h(
      "tr",
      { attr: { "data-allocator": of.name } },
      h("th", { attr: { scope: "row" } }, of.name),
      ...[
        count(of.allocations), bytes(of.peak_live_bytes), bytes(of.live_at_exit_bytes),
        bytes(sum(of.at_peak)), bytes(of.at_peak.free_pages_bytes), bytes(sum(of.at_end)), bytes(of.at_end.free_pages_bytes),
      ].map((text) => h("td", { class: "number" }, text)),
    );
  const rows = [...all].sort((a, b) => b.peak_live_bytes - a.peak_live_bytes || sum(b.at_peak) - sum(a.at_peak));
  return h(
    "div",
    { class: "table-holder", attr: { tabindex: "0", role: "region", "aria-label": "Allocators" } },
    h(
      "table",
      { class: "threads allocators" },
      h("thead", {}, h("tr", {}, ...heads.map((text, i) => h("th", { class: i > 0 ? "number" : "", attr: { scope: "col" } }, text)))),
      h("tbody", {}, ...rows.map(row)),
    ),
  );
}

function drawn(moment: Moment): HTMLElement[] {
  const ratio = fragmentation(moment);
  const facts = [`${bytes(moment.rss_bytes)} resident after ${time(moment.time_ns)}`];
  if (moment.pid !== null) facts.push(`process ${moment.pid}`);
  if (ratio !== null) facts.push(`(resident heap − live) / live = ${ratio.toFixed(2)}`);
  if (moment.huge_pages_bytes > 0) facts.push(`${bytes(moment.huge_pages_bytes)} in huge pages`);
  if (moment.live_not_resident_bytes > 0) facts.push(`${bytes(moment.live_not_resident_bytes)} live and never touched`);
  const largest = Math.max(...TERMS.map((term) => amount(moment, term.id)));
  const rows = steps(moment).map((step, i) => {
    const term = TERMS[i]!;
    return h(
      "li",
      { class: step.bytes === largest ? "term largest" : "term", attr: { "data-term": term.id } },
      h("span", { class: "label" }, h("span", { class: `dot term-${term.id}` }), term.label),
      h("span", { class: "amount" }, bytes(step.bytes)),
      h("span", { class: "share" }, share(step.bytes, moment.rss_bytes)),
      h("span", { class: "track" }, bar(`fill term-${term.id}`, step.share, step.from)),
      h("span", { class: "help" }, term.help),
    );
  });
  const whole = h(
    "li",
    { class: "term whole" },
    h("span", { class: "label" }, "RSS"),
    h("span", { class: "amount" }, bytes(moment.rss_bytes)),
    h("span", { class: "share" }, "100 %"),
    h("span", { class: "track" }, ...steps(moment).map((s) => bar(`fill term-${s.id}`, s.share, s.from))),
    h("span", { class: "help" }, "all resident bytes of the process"),
  );
  return [h("p", { class: "note" }, facts.join(" · ")), h("ol", { class: "terms" }, whole, ...rows)];
}

/** Null without live bytes. */
function fragmentation(moment: Moment): number | null {
  if (moment.live_bytes <= 0) return null;
  const others = moment.internal_fragmentation_bytes + moment.external_fragmentation_bytes + moment.free_pages_bytes + moment.metadata_bytes;
  return others / moment.live_bytes;
}
