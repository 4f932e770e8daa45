/** Source lines, stacks and places, as several parts show them. */

import { h, section } from "../dom.ts";
import { counted } from "../format.ts";
import type { Model } from "../model.ts";

/** Function and line, and what was called there. */
export function place(model: Model, frame: number, via = ""): HTMLElement {
  const text = model.frame(frame);
  return h(
    "span",
    { class: "place", title: `${text.full}\n${text.longPlace}` },
    h("span", { class: `function owner-${text.owner}` }, text.name),
    text.place ? h("span", { class: "file" }, text.place) : null,
    via ? h("span", { class: "file" }, `via ${via}`) : null,
  );
}

/** The way from a frame to its line in the source view. */
export interface SourceLink {
  has: (frame: number) => boolean;
  show: (frame: number) => void;
}

/** Leads to the line of a frame, if its file is in the page. */
export function sourceButton(link: SourceLink, frame: number): HTMLElement | null {
  return link.has(frame) ? h("button", { attr: { type: "button" }, on: { click: () => link.show(frame) } }, "Source") : null;
}

/** Which files of the machine that made the page are in it: whoever passes it on passes these lines on. */
export function sourceFiles(model: Model): HTMLElement | null {
  const files = model.data.source_files;
  if (files.length === 0) return null;
  const note = `Lines of ${counted(files.length, "file", "files")} were read when this page was made and are in it; --no-source leaves them out.`;
  return section("sources", "Source files in this page", note, h("ul", { class: "sources" }, ...files.map((file) => h("li", {}, h("code", {}, file)))));
}

/** The lines around that of the first of some frames for which they were found. */
export function excerpt(model: Model, frames: readonly number[], named = true): HTMLElement | null {
  const frame = frames.find((f) => model.excerpt(f));
  const found = frame === undefined ? undefined : model.excerpt(frame);
  if (frame === undefined || !found) return null;
  const line = model.data.frames.line[frame] ?? 0;
  const rows = dedented(found.lines).map((text, i) => {
    const number = found.first + i;
    return h(
      "span",
      { class: number === line ? "line here" : "line" },
      h("span", { class: "line-number", attr: { "aria-hidden": "true" } }, String(number)),
      h("span", { class: "text" }, `${text}\n`),
    );
  });
  return h(
    "figure",
    { class: "excerpt" },
    named ? h("figcaption", {}, model.frame(frame).place) : null,
    found.changed
      ? h("p", { class: "note changed" }, "This file was changed after the recording: lines may have moved.")
      : null,
    h("pre", { attr: { tabindex: "0", "aria-label": `Source around line ${line}` } }, h("code", {}, ...rows)),
  );
}

/** Without the indentation that all lines have: screens may be narrow. */
export function dedented(lines: readonly string[]): string[] {
  const depths = lines.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length);
  const depth = depths.length > 0 ? Math.min(...depths) : 0;
  return lines.map((line) => line.slice(depth));
}

const INNER = 24;
const OUTER = 6;

/** A stack from the innermost frame outwards. Of a long one the two ends. */
export function stack(model: Model, site: number): HTMLElement {
  const frames = model.stack(site);
  const user = model.userFrame(site);
  const list = h("ol", { class: "stack" });
  let marked = false;
  frames.forEach((frame, i) => {
    const omitted = frames.length - INNER - OUTER;
    if (omitted > 1 && i === INNER) list.append(h("li", { class: "omitted" }, `… ${omitted} more frames …`));
    if (omitted > 1 && i >= INNER && i < INNER + omitted) return;
    const nearest = !marked && frame === user;
    marked ||= nearest;
    list.append(h("li", { class: nearest ? "nearest" : "" }, place(model, frame)));
  });
  return list;
}
