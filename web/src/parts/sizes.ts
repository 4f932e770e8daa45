/** How large allocations and reallocations were, in powers of two. */

import { bar, h, section } from "../dom.ts";
import { bytes, count, share } from "../format.ts";
import type { Model } from "../model.ts";

export function sizes(model: Model): HTMLElement | null {
  const classes = model.data.sizes;
  // Empty classes at the ends say nothing.
  const first = classes.findIndex((c) => c[2] > 0);
  if (first < 0) return null;
  const last = classes.findLastIndex((c) => c[2] > 0);
  const shown = classes.slice(first, last + 1);
  const all = shown.reduce((n, c) => n + c[2], 0);
  const whole = shown.reduce((n, c) => n + c[3], 0);
  const most = shown.reduce((n, c) => Math.max(n, c[2] / all, whole > 0 ? c[3] / whole : 0), 0);
  const rows = shown.map(([from, to, n, sum]) =>
    h(
      "tr",
      {},
      h("th", { attr: { scope: "row" } }, range(from, to)),
      h("td", { class: "number" }, count(n)),
      h("td", {}, h("span", { class: "size-track", title: `${share(n, all)} of all` }, bar("fill by-count", n / all / most))),
      h("td", { class: "number" }, bytes(sum)),
      h("td", {}, h("span", { class: "size-track", title: `${share(sum, whole)} of the bytes` }, bar("fill by-bytes", whole > 0 ? sum / whole / most : 0))),
    )
  );
  const heads = ["Size", "Count", "", "Bytes", ""];
  const head = heads.map((text, i) =>
    text === "" ? h("td", {}) : h("th", { class: i > 0 ? "number" : "", attr: { scope: "col" } }, text)
  );
  return section(
    "sizes",
    "Requested sizes",
    "How large allocations and reallocations were over the whole run, freed or not.",
    h("div", { class: "table-holder" }, h("table", { class: "sizes" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows))),
  );
}

/** `32–63 B`, `1.00–2.00 KiB`, `512 B – 1.00 KiB`. */
function range(from: number, to: number): string {
  const [low, high] = [bytes(from), bytes(to)];
  if (low === high) return low;
  const [number = "", unit = ""] = low.split(" ");
  return high.endsWith(` ${unit}`) ? `${number}–${high}` : `${low} – ${high}`;
}
