/** The source view: the text of a file with what each line allocates beside it. */

import type { SourceText } from "../data.ts";
import { choice, h, prose, section, whenSeen, type Child } from "../dom.ts";
import { bytes, count, counted, share, time } from "../format.ts";
import { lineSums, lineMeasures, type LineMeasure, type LineSum } from "../line_sums.ts";
import type { Model } from "../model.ts";

interface Column {
  label: string;
  help: string;
  format: (n: number) => string;
}

const COLUMNS: Record<LineMeasure, Column> = {
  allocations: { label: "Allocations", help: "blocks that were handed out", format: count },
  bytes: { label: "Bytes", help: "requested over the whole run, freed or not", format: bytes },
  peak_bytes: { label: "Peak", help: "live bytes at the moment of the highest heap", format: bytes },
  temporary: { label: "Temporary", help: "blocks freed before their thread allocated again", format: count },
  estimate: { label: "Time (est.)", help: "estimated time of the allocator's calls", format: time },
};

type Amounts = "own" | "whole";

export interface LinesView {
  element: HTMLElement;
  /** Shows the line of a frame, if its file is here; says whether it is. */
  show: (frame: number) => boolean;
  /** Whether the file of a frame is here. */
  has: (frame: number) => boolean;
}

/** `null` if no stack has a line. `showFinding` shows one by its place in the list. */
export function linesView(model: Model, showFinding: (i: number) => void): LinesView | null {
  const { findings, lines: { files, left_out } } = model.data;
  if (files.length === 0) return null;
  const measures = lineMeasures(model);
  let file = files[0]!;
  let measure: LineMeasure = "allocations";
  let amounts: Amounts = "own";

  const select = h("select", { attr: { "aria-label": "File" }, on: { change: () => open(files[Number(select.value)] ?? file) } });
  const note = h("p", { class: "note", attr: { "aria-live": "polite" } });
  const head = h("thead", {});
  const body = h("tbody", {});
  const holder = h("div", { class: "table-holder lines-holder", attr: { tabindex: "0", role: "region", "aria-label": "Source with what each line allocates" } },
    h("table", { class: "lines" }, head, body));

  function fill(): void {
    select.replaceChildren(...files.map((one, i) => h("option", { attr: { value: String(i) } }, label(one))));
    select.value = String(files.indexOf(file));
    draw();
  }

  function label(one: SourceText): string {
    const own = (lineSums(model).get(one.file) ?? []).reduce((n, line) => n + line.own.allocations, 0);
    return `${shortPath(one)} · ${share(own, model.data.totals.allocations)} of allocations`;
  }

  function shortPath(one: SourceText): string {
    const frame = model.data.frames.file.indexOf(one.file);
    return model.text(model.data.frames.path[frame] ?? 0) || model.text(one.file);
  }

  function open(one: SourceText): void {
    file = one;
    draw();
    holder.scrollTop = 0;
  }

  function draw(): void {
    const lines = lineSums(model).get(file.file) ?? [];
    const shown = new Set<number>();
    const byNumber = new Map(lines.map((line) => [line.line, line]));
    const most = lines.reduce((n, line) => Math.max(n, line[amounts][measure]), 0);
    const rows: HTMLElement[] = [];
    if (file.parts.length > 0) {
      let before = 0;
      for (const [first, texts] of file.parts) {
        if (first > before + 1) rows.push(gap(first - before - 1));
        texts.forEach((text, i) => {
          shown.add(first + i);
          rows.push(...row(first + i, text, byNumber.get(first + i), most));
        });
        before = first + texts.length - 1;
      }
      if (before < file.length) rows.push(gap(file.length - before));
    } else {
      for (const line of lines) rows.push(...row(line.line, null, line, most));
    }
    heads();
    body.replaceChildren(...rows);
    const hidden = file.parts.length === 0 ? 0 : lines.filter((line) => !shown.has(line.line)).length;
    const notes = [model.text(file.file)];
    if (file.absent) notes.push(`no text is shown: ${file.absent}`);
    if (hidden > 0) notes.push(`${counted(hidden, "line", "lines")} that allocate less are left out`);
    if (left_out > 0) notes.push(`${counted(left_out, "more file", "more files")} are not in this page; heapwise annotate has them`);
    note.textContent = notes.join(" · ");
  }

  function heads(): void {
    const columns = measures.map((id) =>
      h("th", { class: id === measure ? "number chosen" : "number", title: COLUMNS[id].help, attr: { scope: "col" } }, COLUMNS[id].label)
    );
    head.replaceChildren(h(
      "tr",
      {},
      ...columns,
      h("th", { class: "line-number", attr: { scope: "col" } }, "Line"),
      h("th", { attr: { scope: "col" } }, file.parts.length > 0 ? "Source" : "Function"),
    ));
  }

  function gap(lines: number): HTMLElement {
    return h("tr", { class: "gap" }, h("td", { attr: { colspan: String(measures.length + 2) } }, `⋯ ${counted(lines, "line", "lines")}`));
  }

  function row(number: number, text: string | null, line: LineSum | undefined, most: number): HTMLElement[] {
    const cells = measures.map((id) => {
      const value = line?.[amounts][id] ?? 0;
      return h("td", { class: id === measure ? "number chosen" : "number" }, value > 0 ? COLUMNS[id].format(value) : "");
    });
    const code: Child = text === null ? h("span", { class: "function" }, line ? model.frame(line.frame).name : "") : h("span", { class: "text" }, text || " ");
    const element = h("tr", { class: "source-line", attr: { "data-line": String(number), tabindex: "-1" } }, ...cells, h("th", { class: "line-number", attr: { scope: "row" } }, String(number)), h("td", { class: "code" }, code));
    const value = line?.[amounts][measure] ?? 0;
    if (value > 0 && most > 0) element.style.setProperty("--heat", `${Math.round(6 + 54 * (value / most))}%`);
    const found = line ? about(line) : [];
    const notes = found.map((i) =>
      h("tr", { class: "line-finding" }, h("td", { attr: { colspan: String(measures.length + 2) } },
        h("button", { attr: { type: "button" }, on: { click: () => showFinding(i) } }, `▲ Finding ${i + 1}: `, ...prose(findings[i]!.title))))
    );
    return [element, ...notes];
  }

  const byLine = new Map<string, number[]>();
  findings.forEach(({ site, sites }, i) => {
    for (const one of site === null ? sites : [site, ...sites]) {
      if (one >= model.nSites) continue;
      const key = keyOf(model.userFrame(one));
      const list = byLine.get(key);
      if (!list) byLine.set(key, [i]);
      else if (!list.includes(i)) list.push(i);
    }
  });
  function keyOf(frame: number): string {
    return `${model.data.frames.file[frame]}:${model.data.frames.line[frame]}`;
  }
  function about(line: LineSum): number[] {
    return byLine.get(keyOf(line.frame)) ?? [];
  }

  function fileOf(frame: number): SourceText | undefined {
    const line = model.data.frames.line[frame] ?? 0;
    return line > 0 ? files.find((one) => one.file === model.data.frames.file[frame]) : undefined;
  }

  const element = section(
    "source",
    "Source",
    "What each line allocates. Own: the line is the nearest one of your code. With callees: it is anywhere in the stack.",
    h(
      "div",
      { class: "controls" },
      h("label", { class: "check file-choice" }, "File", select),
      choice<Amounts>("Amounts", [{ id: "own", label: "Own" }, { id: "whole", label: "With callees" }], amounts, (id) => {
        amounts = id;
        draw();
      }),
      choice<LineMeasure>("Shade by", measures.map((id) => ({ id, label: COLUMNS[id].label, title: COLUMNS[id].help })), measure, (id) => {
        measure = id;
        draw();
      }),
    ),
    note,
    holder,
  );
  const filled = whenSeen(element, fill);
  return {
    element,
    has: (frame) => fileOf(frame) !== undefined,
    show: (frame) => {
      const found = fileOf(frame);
      if (!found) return false;
      filled();
      open(found);
      select.value = String(files.indexOf(found));
      const target = body.querySelector<HTMLElement>(`[data-line="${model.data.frames.line[frame]}"]`);
      body.querySelector(".here")?.classList.remove("here");
      target?.classList.add("here");
      target?.scrollIntoView({ block: "center" });
      target?.focus({ preventScroll: true });
      return true;
    },
  };
}
