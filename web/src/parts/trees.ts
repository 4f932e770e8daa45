/** Stacks as two trees of rows that open: what a function calls, and who calls it. */

import { bottomUp, topDown, type CallRow } from "../call_trees.ts";
import { bar, choice, h, section, whenSeen } from "../dom.ts";
import { count, share } from "../format.ts";
import { OWNER_NAMES, type MeasureId, type Model } from "../model.ts";
import type { Tree } from "../tree.ts";
import type { SourceLink } from "./source.ts";

type Direction = "down" | "up";

/** Rows of one caller that are shown at first, and more at a time. */
const PAGE = 30;
/** A row with nothing but one below it opens that as well, so far. */
const CHAIN = 24;
/** Rows further inside are not moved further to the right: a recursion may be thousands of calls deep. */
const DEEPEST = 16;

export function trees(model: Model, link: SourceLink): HTMLElement {
  let measure: MeasureId = "allocations";
  let direction: Direction = "down";
  let lines = false;
  let own = true;
  let whole = 0;

  const head = h("tr", {});
  const body = h("tbody", {});
  const note = h("p", { class: "note", attr: { "aria-live": "polite" } });

  function rows(): CallRow[] {
    const { sites } = model;
    const { tree, to }: { tree: Tree; to: Int32Array | undefined } = lines ? { tree: model.tree, to: undefined } : model.merged;
    const ends = Int32Array.from(sites.node, (node, site) => {
      const user = sites.user[site]!;
      const end = own && user >= 0 ? user : node;
      return to ? to[end]! : end;
    });
    const values = sites[measure];
    whole = model.sums.get(measure) ?? 0;
    if (direction === "down") return topDown(tree, ends, values);
    const { keyOf, keys } = keysOf();
    return bottomUp(tree, ends, values, keyOf, keys);
  }

  /** Frames of one function have one number, or those of one line. */
  function keysOf(): { keyOf: Int32Array; keys: number } {
    const { frames } = model.data;
    const known = new Map<string, number>();
    const keyOf = Int32Array.from(frames.name, (name, frame) => {
      const key = lines ? `${name} ${frames.file[frame]} ${frames.line[frame]}` : `${frames.function[frame]! > 0 ? frames.function[frame] : `@${name}`}`;
      let number = known.get(key);
      if (number === undefined) known.set(key, (number = known.size));
      return number;
    });
    return { keyOf, keys: known.size };
  }

  function draw(): void {
    const titles = [direction === "down" ? "Function" : "Allocated in, called by", "Own", "With callees"];
    head.replaceChildren(...titles.map((title, i) => h("th", { class: i > 0 ? "number" : "", attr: { scope: "col" } }, title)));
    body.replaceChildren();
    const top = rows();
    append(undefined, top, 1);
    note.textContent = top.length === 0 ? "nothing was counted" : "";
    // What leads to a program's own code is a chain of rows that say nothing.
    const first = body.firstElementChild as HTMLElement | null;
    if (direction === "down" && first && top.length === 1) toggle(first, true);
    const button = body.querySelector<HTMLElement>("button.open");
    if (button) button.tabIndex = 0;
  }

  const rowOf = new WeakMap<HTMLElement, CallRow>();

  /** Puts rows behind another, as many as are shown at first. */
  function append(after: HTMLElement | undefined, list: readonly CallRow[], level: number): HTMLElement | undefined {
    const shown = list.slice(0, PAGE).map((row) => element(row, level));
    const rest = list.slice(PAGE);
    if (rest.length > 0) shown.push(more(rest, level));
    if (after) after.after(...shown);
    else body.append(...shown);
    return shown[0];
  }

  function more(rest: readonly CallRow[], level: number): HTMLElement {
    const button = h("button", { class: "open", attr: { type: "button", tabindex: "-1" } }, `${count(rest.length)} more`);
    const line = h("tr", { class: "call more-calls", attr: { "aria-level": String(level) } }, h("th", { attr: { scope: "row", colspan: "3" } }, button));
    indent(line, level);
    button.addEventListener("click", () => {
      const first = append(line, rest, level);
      line.remove();
      first?.querySelector<HTMLElement>("button.open")?.focus();
    });
    return line;
  }

  function indent(line: HTMLElement, level: number): void {
    line.style.setProperty("--level", String(Math.min(level, DEEPEST) - 1));
  }

  function element(row: CallRow, level: number): HTMLElement {
    const { format } = model.measure(measure);
    const frame = model.frame(row.frame);
    const file = lines ? frame.place : frame.place.replace(/:\d+$/, "");
    const deep = level > DEEPEST ? `${level} ` : "";
    const name = h("span", { class: "place", title: `${frame.full}\n${frame.longPlace}\n${OWNER_NAMES[frame.owner]}` },
      h("span", { class: `function owner-${frame.owner}` }, deep + frame.name), file ? h("span", { class: "file" }, file) : null);
    const open = h("button", { class: row.opens ? "open" : "open closed", attr: { type: "button", tabindex: "-1" } }, name);
    const source = lines && link.has(row.frame)
      ? h("button", { class: "to-source", attr: { type: "button", tabindex: "-1" }, on: { click: () => link.show(row.frame) } }, "Source")
      : null;
    const value = direction === "down" ? row.total ?? row.own : row.own;
    const cells = [row.own, row.total].map((n, i) =>
      h("td", { class: "number" }, n === undefined || n === 0 ? h("span", { class: "zero" }, n === 0 ? "–" : "") : format(n),
        n && (i === 1) === (direction === "down") ? h("span", { class: "part-of" }, share(n, whole)) : null)
    );
    const line = h("tr", { class: "call", attr: { role: "row", "aria-level": String(level) } },
      h("th", { attr: { scope: "row" } }, open, source, h("span", { class: "track" }, bar("fill", whole > 0 ? value / whole : 0))), ...cells);
    if (row.opens) line.setAttribute("aria-expanded", "false");
    indent(line, level);
    rowOf.set(line, row);
    open.addEventListener("click", () => toggle(line));
    return line;
  }

  const levelOf = (line: Element): number => Number(line.getAttribute("aria-level"));

  /** Opens a row or closes it. What has nothing but one row below it is opened together with that. */
  function toggle(line: HTMLElement, opens = line.getAttribute("aria-expanded") === "false"): void {
    if (!line.hasAttribute("aria-expanded")) return;
    line.setAttribute("aria-expanded", String(opens));
    if (!opens) {
      const level = levelOf(line);
      while (line.nextElementSibling && levelOf(line.nextElementSibling) > level) line.nextElementSibling.remove();
      return;
    }
    for (let at: HTMLElement | undefined = line, left = CHAIN; at && left > 0; left--) {
      at.setAttribute("aria-expanded", "true");
      const below: CallRow[] = rowOf.get(at)?.below() ?? [];
      const first = append(at, below, levelOf(at) + 1);
      at = below.length === 1 && below[0]!.opens ? first : undefined;
    }
  }

  body.addEventListener("focusin", (event) => {
    for (const other of body.querySelectorAll<HTMLElement>("button.open[tabindex='0']")) other.tabIndex = -1;
    const line = (event.target as HTMLElement).closest("tr");
    const open = line?.querySelector<HTMLElement>("button.open");
    if (open) open.tabIndex = 0;
  });
  body.addEventListener("keydown", (event) => {
    const line = (event.target as HTMLElement).closest<HTMLElement>("tr.call");
    if (!line || event.ctrlKey || event.metaKey || event.altKey) return;
    const state = line.getAttribute("aria-expanded");
    let target: Element | null | undefined;
    if (event.key === "ArrowDown") target = line.nextElementSibling;
    else if (event.key === "ArrowUp") target = line.previousElementSibling;
    else if (event.key === "Home") target = body.firstElementChild;
    else if (event.key === "ArrowRight" && state === "false") toggle(line, true);
    else if (event.key === "ArrowRight" && state === "true") target = line.nextElementSibling;
    else if (event.key === "ArrowLeft" && state === "true") toggle(line, false);
    else if (event.key === "ArrowLeft") {
      target = line.previousElementSibling;
      while (target && levelOf(target) >= levelOf(line)) target = target.previousElementSibling;
    } else return;
    event.preventDefault();
    target?.querySelector<HTMLElement>("button.open")?.focus();
  });

  const check = (text: string, title: string, isOn: boolean, onChange: (isOn: boolean) => void): HTMLElement => {
    const box = h("input", { attr: { type: "checkbox", ...(isOn ? { checked: "" } : {}) }, on: { change: () => { onChange(box.checked); draw(); } } });
    return h("label", { class: "check", title }, box, text);
  };
  const part = section(
    "trees",
    "Call trees",
    "Rows open by click, Enter or the arrow keys. Own: allocated by the function itself. With callees: and by all that it calls.",
    h("div", { class: "controls" },
      choice<Direction>("Direction", [
        { id: "down", label: "Top down", title: "callers first" },
        { id: "up", label: "Bottom up", title: "where blocks are allocated first" },
      ], direction, (id) => { direction = id; draw(); }),
      choice("Measure", model.measures.map((m) => ({ id: m.id, label: m.label, title: m.help })), measure, (id) => { measure = id; draw(); })),
    h("div", { class: "controls" },
      check("End stacks at your code", "What your code calls counts for it", own, (isOn) => (own = isOn)),
      check("Distinguish lines", "Calls from different lines of a function are different rows", lines, (isOn) => (lines = isOn))),
    note,
    h("div", { class: "table-holder" },
      h("table", { class: "calls", attr: { role: "treegrid", "aria-label": "Call tree" } }, h("thead", {}, head), body)),
  );
  whenSeen(part, draw);
  return part;
}
