/** Marks and spans on the time axis of the curves: lines with names, and lanes of spans below. */

import type { Marks } from "../data.ts";
import { h } from "../dom.ts";
import { labels, lanes, marked, pieces } from "../marks.ts";
import type { Model } from "../model.ts";
import { color } from "../theme.ts";

const FONT = "12px system-ui, sans-serif";
const MOST_LANES = 12;
const LANE = 24;
const BAR = 8;
/** Rows of names over the curves. */
const ROWS = 3;
const ROW = 15;
/** Characters of a name that are drawn; the table has all of it. */
const MOST_CHARACTERS = 40;

/** Where the curves are, in pixels of the page, and which part of the run they show. */
export interface Plot {
  left: number;
  top: number;
  width: number;
  height: number;
  x: (ns: number) => number;
}

export function shortName(model: Model, name: number): string {
  const text = [...(model.text(name) || "(no name)")];
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS - 1).join("")}…` : text.join("");
}

/** Lines of marks over the curves. The context's unit is a pixel of the page. */
export function drawMarks(context: CanvasRenderingContext2D, model: Model, marks: Marks, plot: Plot): void {
  const right = plot.left + plot.width;
  const inside = marks.points.filter(([time]) => plot.x(time) >= plot.left && plot.x(time) <= right);
  if (inside.length === 0) return;
  context.save();
  context.strokeStyle = color("mark");
  context.lineWidth = 1;
  context.setLineDash([4, 3]);
  context.globalAlpha = inside.length > 60 ? 0.35 : 0.9;
  context.beginPath();
  for (const x of new Set(inside.map(([time]) => Math.round(plot.x(time)) + 0.5))) {
    context.moveTo(x, plot.top);
    context.lineTo(x, plot.top + plot.height);
  }
  context.stroke();
  context.globalAlpha = 1;
  context.font = FONT;
  context.textBaseline = "top";
  context.textAlign = "left";
  const names = inside.map(([, name]) => shortName(model, name));
  const xs = inside.map(([time]) => plot.x(time));
  const widths = names.map((name) => context.measureText(name).width);
  const [ground, ink] = [color("card"), color("mark")];
  for (const { mark, row, left } of labels(xs, widths, right, ROWS)) {
    const top = plot.top + 3 + row * ROW;
    context.globalAlpha = 0.8;
    context.fillStyle = ground;
    context.fillRect(left - 2, top - 1, widths[mark]! + 4, ROW - 1);
    context.globalAlpha = 1;
    context.fillStyle = ink;
    context.fillText(names[mark]!, left, top);
  }
  context.restore();
}

/** The lanes of spans, to stand below the curves. */
export function spanLanes(model: Model, marks: Marks): { element: HTMLElement; draw: (plot: Plot) => void } | null {
  const { shown, left } = lanes(marks, model.data.duration_ns, MOST_LANES);
  if (shown.length === 0) return null;
  const names = shown.map((lane) => shortName(model, lane.name));
  const canvas = h("canvas", { class: "lanes", attr: { role: "img", "aria-label": `Spans over time: ${names.join(", ")}` } });
  const notes = [
    left > 0 ? `${left} more names of spans are in the table only.` : "",
    marks.not_listed > 0 ? `There were too many marks to draw all of them: of a name with very many, some over the whole run.` : "",
  ].filter((note) => note !== "");
  const element = h("div", {}, canvas, notes.length > 0 ? h("p", { class: "note" }, notes.join(" ")) : null);
  return { element, draw };

  function draw(plot: Plot): void {
    const width = plot.left + plot.width + 8;
    const height = shown.length * LANE + 4;
    const scale = devicePixelRatio || 1;
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
    const context = canvas.getContext("2d");
    if (!context) return;
    context.scale(scale, scale);
    context.font = FONT;
    context.textBaseline = "top";
    const [fill, text, line] = [color("span"), color("text"), color("grid")];
    context.strokeStyle = line;
    context.strokeRect(plot.left + 0.5, 0.5, plot.width - 1, height - 1);
    context.beginPath();
    context.rect(plot.left, 0, plot.width, height);
    context.clip();
    shown.forEach((lane, i) => {
      const top = i * LANE + 2;
      const all = pieces(lane, plot.x);
      // The name stands above the first bar that is to be seen, if there is room for it.
      const first = all.find((piece) => piece.right >= plot.left);
      const wish = Math.max(plot.left + 3, first?.left ?? 0);
      const room = plot.left + plot.width - context.measureText(names[i]!).width - 4;
      context.fillStyle = text;
      context.fillText(names[i]!, Math.max(plot.left + 3, Math.min(wish, room)), top);
      context.fillStyle = fill;
      for (const piece of all) {
        context.globalAlpha = piece.open ? 0.45 : 0.9;
        context.fillRect(piece.left, top + LANE - BAR - 3, piece.right - piece.left, BAR);
      }
      context.globalAlpha = 1;
    });
  }
}

/** The readout's wording of the marks and spans in a step of the curves. */
export function wording(model: Model, marks: Marks, from: number, to: number): string[] {
  const { spans, points } = marked(marks, from, to, model.data.duration_ns);
  const some = (names: number[], most: number): string => {
    const rest = names.length - most;
    return names.slice(0, most).map((name) => shortName(model, name)).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
  };
  return [spans.length > 0 ? `in ${some(spans, 4)}` : "", points.length > 0 ? `mark: ${some(points, 3)}` : ""].filter((part) => part !== "");
}
