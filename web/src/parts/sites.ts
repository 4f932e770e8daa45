/** The table of call sites: filter, sort, and the stacks of each row. */

import { bar, choice, h, section } from "../dom.ts";
import { count, counted, share, time } from "../format.ts";
import { groups, leadingSites, sorted, type Group, type GroupBy } from "../groups.ts";
import type { MeasureId, Model } from "../model.ts";
import { excerpt, place, sourceButton, stack, type SourceLink } from "./source.ts";

const PAGE = 25;
const STACKS = 5;

export interface SitesTable {
  element: HTMLElement;
  filter: (text: string) => void;
}

export function sitesTable(model: Model, showInFlame: (text: string) => void, source: SourceLink): SitesTable {
  let by: GroupBy = "line";
  let measure: MeasureId = "allocations";
  let ascending = false;
  let text = "";
  let shown = PAGE;
  let list: readonly Group[] = [];

  const body = h("tbody", {});
  const headRow = h("tr", {});
  const summary = h("p", { class: "note", attr: { "aria-live": "polite" } });
  const more = h("button", { class: "more-rows", attr: { type: "button" }, on: { click: () => { shown += PAGE * 2; draw(); } } });
  const filter = h("input", {
    id: "sites-filter",
    attr: { type: "search", placeholder: "Filter: function or file in the stack", "aria-label": "Filter call sites", spellcheck: "false" },
  });
  let waiting: ReturnType<typeof setTimeout> | undefined;
  filter.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => setFilter(filter.value), model.nSites > 20000 ? 150 : 0);
  });
  const sortSelect = h(
    "select",
    { attr: { "aria-label": "Sort by" }, on: { change: () => sortBy(sortSelect.value as MeasureId) } },
    ...model.measures.map((m) => h("option", { attr: { value: m.id } }, m.label)),
  );

  function sortBy(id: MeasureId): void {
    ascending = id === measure ? !ascending : false;
    measure = id;
    sortSelect.value = id;
    shown = PAGE;
    draw();
  }
  function setFilter(value: string): void {
    text = value;
    shown = PAGE;
    collect();
  }
  function collect(): void {
    list = groups(model, by, text);
    draw();
  }

  // They stay the same elements, so that a click or the keyboard's focus is not lost when rows are drawn again.
  const placeHead = h("th", { attr: { scope: "col" } });
  const measureHeads = model.measures.map((m) => {
    const arrow = h("span", { class: "arrow", attr: { "aria-hidden": "true" } });
    const button = h("button", { title: m.help, attr: { type: "button" }, on: { click: () => sortBy(m.id) } }, m.label, arrow);
    return { id: m.id, arrow, cell: h("th", { class: "number", attr: { scope: "col" } }, button) };
  });
  headRow.append(placeHead, ...measureHeads.map((head) => head.cell));

  function heads(): void {
    placeHead.textContent = by === "function" ? "Function" : by === "line" ? "Your line" : "Your line, by stack";
    for (const { id, arrow, cell } of measureHeads) {
      const isSorted = id === measure;
      cell.classList.toggle("sorted", isSorted);
      cell.setAttribute("aria-sort", isSorted ? (ascending ? "ascending" : "descending") : "none");
      arrow.textContent = isSorted ? (ascending ? " ↑" : " ↓") : "";
    }
  }

  function draw(): void {
    heads();
    const rows = sorted(list, measure, ascending);
    body.replaceChildren(...rows.slice(0, shown).flatMap((group) => row(group)));
    const left = rows.length - shown;
    more.hidden = left <= 0;
    more.textContent = `Show ${Math.min(left, PAGE * 2)} more of ${count(Math.max(0, left))}`;
    const sites = list.reduce((n, group) => n + group.sites.length, 0);
    const names = by === "line" ? ["line", "lines"] : by === "function" ? ["function", "functions"] : ["stack", "stacks"];
    summary.textContent = `${counted(list.length, names[0]!, names[1]!)} in ${counted(sites, "call stack", "call stacks")}${text ? " that match" : ""}`;
  }

  function row(group: Group): HTMLElement[] {
    const columns = model.measures.length + 1;
    const detail = h("tr", { class: "detail" });
    detail.hidden = true;
    const open = h(
      "button",
      {
        class: "open",
        attr: { type: "button", "aria-expanded": "false" },
        on: {
          click: () => {
            const opens = detail.hidden;
            detail.hidden = !opens;
            open.setAttribute("aria-expanded", String(opens));
            if (opens && detail.childElementCount === 0) {
              detail.append(h("td", { attr: { colspan: String(columns) } }, details(group)));
            }
          },
        },
      },
      place(model, group.frame, model.via(leadingSites(model, group, measure, 1)[0]!)),
    );
    const cells = model.measures.map((m) => {
      const value = group.sums[m.id];
      const whole = model.sums.get(m.id) ?? 0;
      const isSorted = m.id === measure;
      return h(
        "td",
        { class: isSorted ? "number sorted" : "number" },
        value === 0 ? h("span", { class: "zero" }, "–") : m.format(value),
        isSorted && value > 0 ? h("span", { class: "part-of" }, share(value, whole)) : null,
        isSorted ? h("span", { class: "track" }, bar("fill", whole > 0 ? value / whole : 0)) : null,
      );
    });
    return [h("tr", { class: "site" }, h("th", { attr: { scope: "row" } }, open), ...cells), detail];
  }

  function details(group: Group): HTMLElement {
    const leading = leadingSites(model, group, measure, STACKS);
    const one = group.sites.length === 1;
    const facts: [string, string][] = model.measures.map((m) => [m.label, `${m.format(group.sums[m.id])} (${share(group.sums[m.id], model.sums.get(m.id) ?? 0)})`]);
    facts.push(["Reallocations", count(group.reallocations)]);
    if (group.otherThread > 0) facts.push(["Freed by another thread", counted(group.otherThread, "block", "blocks")]);
    const stacks = leading.map((site, i) => {
      const { sites } = model;
      const value = sites[measure][site] ?? 0;
      const life = lifetimes(sites.p50[site]!, sites.p99[site]!);
      const title = `${model.measure(measure).format(value)} ${model.measure(measure).label.toLowerCase()}${one ? "" : ` · ${share(value, group.sums[measure])} of this row`}${life}`;
      const holder = h("details", {}, h("summary", {}, title));
      const fill = (): void => {
        if (holder.open && holder.childElementCount === 1) holder.append(stack(model, site));
      };
      holder.addEventListener("toggle", fill);
      if (i === 0) {
        holder.open = true;
        fill();
      }
      return holder;
    });
    const rest = group.sites.length - leading.length;
    const { place: where, name } = model.frame(group.frame);
    const target = by !== "function" && model.data.frames.line[group.frame] ? where : name;
    return h(
      "div",
      { class: "site-detail" },
      excerpt(model, group.sites.map((site) => model.userFrame(site))),
      h("dl", { class: "facts-list" }, ...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      h("h4", {}, one ? "Stack, innermost first" : `Stacks with the most ${model.measure(measure).label.toLowerCase()}, innermost first`),
      ...stacks,
      rest > 0 ? h("p", { class: "note" }, `and ${counted(rest, "more stack", "more stacks")}`) : null,
      h("p", { class: "actions" }, h("button", { attr: { type: "button" }, on: { click: () => showInFlame(target) } }, "Flame graph"), by === "function" ? null : sourceButton(source, group.frame)),
    );
  }

  const element = section(
    "sites",
    "Call sites",
    "A row is a line of yours; open it for the source and the stacks behind it.",
    h(
      "div",
      { class: "controls" },
      filter,
      h("label", { class: "check" }, "Sort by", sortSelect),
      choice<GroupBy>(
        "Rows",
        [
          { id: "line", label: "Lines" },
          { id: "function", label: "Functions" },
          { id: "stack", label: "Stacks" },
        ],
        by,
        (id) => {
          by = id;
          shown = PAGE;
          collect();
        },
      ),
    ),
    summary,
    h("div", { class: "table-holder" }, h("table", { class: "sites" }, h("thead", {}, headRow), body)),
    more,
  );
  collect();
  return {
    element,
    filter: (value) => {
      filter.value = value;
      setFilter(value);
    },
  };
}

/** How long the freed blocks lived. The recorder's clock cannot distinguish shorter times. */
function lifetimes(p50: number, p99: number): string {
  if (p50 < 0) return "";
  if (p99 === 0) return " · freed within 1 ms";
  return ` · half live up to ${p50 === 0 ? "1 ms" : time(p50)}, 99 % up to ${time(p99)}`;
}
