/** Threads, and which of them freed the blocks of which. */

import type { Thread } from "../data.ts";
import { h, section, type Child } from "../dom.ts";
import { bytes, count, share } from "../format.ts";
import { matrix, type Matrix } from "../matrix.ts";
import type { Model } from "../model.ts";

/** Threads that have a separate row in the matrix. */
const MOST_IN_MATRIX = 12;
const MOST_IN_TABLE = 16;

export function threads(model: Model): HTMLElement | null {
  const { threads: list, thread_matrix, totals } = model.data;
  if (list.length < 2) return null;
  const name = (thread: Thread): string => model.text(thread.name) || `thread ${thread.tid}`;
  const pairs = thread_matrix && matrix(list, thread_matrix, MOST_IN_MATRIX, name);
  const elsewhere = thread_matrix
    ? thread_matrix.reduce((n, [from, to, blocks]) => (from === to ? n : n + blocks), 0)
    : list.reduce((n, t) => n + t.freed_elsewhere, 0);
  const note = `${count(elsewhere)} blocks (${share(elsewhere, totals.allocations)}) were freed by another thread than the one that allocated them.`;
  return section(
    "threads",
    "Threads",
    note,
    pairs ? drawn(pairs) : h("p", { class: "empty" }, "Which thread freed whose blocks was not measured."),
    table(model, list, name),
  );
}

function drawn(pairs: Matrix): HTMLElement {
  const heads: Child[] = [h("th", { class: "corner", attr: { scope: "col" } }, "allocated by ↓ freed by →")];
  for (const name of pairs.names) heads.push(h("th", { attr: { scope: "col" } }, h("span", { class: "thread-name" }, name)));
  const rows = pairs.names.map((name, i) =>
    h(
      "tr",
      {},
      h("th", { attr: { scope: "row" } }, h("span", { class: "thread-name" }, name)),
      ...pairs.cells[i]!.map((n, j) => {
        const cell = h("td", {
          class: i === j ? "own" : "other",
          title: `${count(n)} blocks that ${name} allocated and ${pairs.names[j]} freed`,
        }, n === 0 ? "" : short(n));
        // Strong enough to be seen from the first block on, and never so strong that the number is not.
        if (n > 0) cell.style.setProperty("--heat", `${Math.round(8 + 62 * Math.sqrt(n / pairs.largest))}%`);
        return cell;
      }),
    )
  );
  return h(
    "div",
    { class: "table-holder", attr: { tabindex: "0", role: "region", "aria-label": "Which thread freed whose blocks" } },
    h("table", { class: "matrix" }, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows)),
  );
}

/** `940`, `12k`, `3.4M`: the exact number is in the cell's title. */
function short(n: number): string {
  if (n < 1000) return String(n);
  if (n < 999_500) return `${(n / 1e3).toFixed(n < 9950 ? 1 : 0)}k`;
  return `${(n / 1e6).toFixed(n < 9.95e6 ? 1 : 0)}M`;
}

function table(model: Model, list: readonly Thread[], name: (thread: Thread) => string): HTMLElement {
  const rows = [...list].sort((a, b) => b.allocations - a.allocations);
  const heads = ["Thread", "Allocations", "Bytes", "Its own peak", "Live at exit", "Freed elsewhere"];
  const row = (t: Thread): HTMLElement =>
    h(
      "tr",
      {},
      h("th", { attr: { scope: "row" } }, h("span", { class: "thread-name" }, name(t)), h("span", { class: "note" }, ` ${t.tid}`)),
      ...[count(t.allocations), bytes(t.bytes), bytes(t.peak_bytes), bytes(t.exit_bytes), count(t.freed_elsewhere)].map((text) => h("td", { class: "number" }, text)),
    );
  const rest = rows.length - MOST_IN_TABLE;
  return h(
    "div",
    { class: "table-holder", attr: { tabindex: "0", role: "region", "aria-label": "Threads" } },
    h(
      "table",
      { class: "threads" },
      h("thead", {}, h("tr", {}, ...heads.map((text, i) => h("th", { class: i > 0 ? "number" : "", attr: { scope: "col" } }, text)))),
      h("tbody", {}, ...rows.slice(0, MOST_IN_TABLE).map(row)),
    ),
    rest > 0 ? h("p", { class: "note" }, `and ${rest} more, of ${model.data.threads.length}`) : null,
  );
}
