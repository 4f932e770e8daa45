/** What was allocated during the program's spans. */

import { h, section } from "../dom.ts";
import { bytes, count, time } from "../format.ts";
import type { Model } from "../model.ts";

const MOST_IN_TABLE = 40;

export function spans(model: Model): HTMLElement | null {
  const list = model.data.marks?.spans ?? [];
  if (list.length === 0) return null;
  const heads = ["Span", "Count", "Time", "Longest", "Allocations", "Bytes", "Left at most"];
  const rows = list.slice(0, MOST_IN_TABLE).map((span) => {
    const half = [
      span.unended > 0 ? `${count(span.unended)} without an end` : "",
      span.unbegun > 0 ? `${count(span.unbegun)} without a begin` : "",
    ].filter((part) => part !== "").join(", ");
    const sign = span.growth < 0 ? "−" : "";
    const numbers = [time(span.time_ns), time(span.longest_ns), count(span.allocations), bytes(span.bytes), `${sign}${bytes(Math.abs(span.growth))}`];
    return h(
      "tr",
      {},
      h("th", { attr: { scope: "row" } }, h("span", { class: "thread-name" }, model.text(span.name) || "(no name)"), half ? h("span", { class: "note" }, ` ${half}`) : null),
      h("td", { class: "number" }, count(span.count)),
      ...numbers.map((text) => h("td", { class: "number" }, span.count === 0 ? "–" : text)),
    );
  });
  const rest = list.length - MOST_IN_TABLE;
  return section(
    "spans",
    "Spans",
    "Spans that the program marked, and what their thread allocated meanwhile. Nested spans count in both. “Left” is by how much the live blocks that the thread had allocated grew from begin to end.",
    h(
      "div",
      { class: "table-holder", attr: { tabindex: "0", role: "region", "aria-label": "Spans" } },
      h(
        "table",
        { class: "spans" },
        h("thead", {}, h("tr", {}, ...heads.map((text, i) => h("th", { class: i > 0 ? "number" : "", attr: { scope: "col" } }, text)))),
        h("tbody", {}, ...rows),
      ),
      rest > 0 ? h("p", { class: "note" }, `and ${count(rest)} more names`) : null,
    ),
  );
}
