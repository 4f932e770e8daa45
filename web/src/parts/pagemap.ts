/** How full the resident pages of the heap are: address by address, a square per page. */

import { h, section, type Child } from "../dom.ts";
import { bytes, counted, share, time } from "../format.ts";
import { groups, sorted } from "../groups.ts";
import type { Model } from "../model.ts";
import { ABSENT, FULL, coarser, decoded, type Region } from "../pages.ts";
import { color, onTheme } from "../theme.ts";
import { place } from "./source.ts";

/** Rows of squares that are drawn at most, over all regions. */
const MOST_ROWS = 64;
const SQUARE = 8;
/** Regions that are drawn at once; the largest ones. */
const MOST_REGIONS = 24;

const CLASSES: readonly { name: string; label: string; most: number }[] = [
  { name: "page-empty", label: "resident, empty", most: 0 },
  { name: "page-1", label: "up to a quarter in use", most: FULL / 4 },
  { name: "page-2", label: "half", most: FULL / 2 },
  { name: "page-3", label: "three quarters", most: (FULL * 3) / 4 },
  { name: "page-4", label: "more", most: FULL },
];

/** Null if it was not measured: the accounting says so already. */
export function pageMap(model: Model): HTMLElement | null {
  const { pages } = model.data;
  if (!pages || pages.regions.length === 0) return null;
  const all = decoded(pages);
  const regions = [...all].sort((a, b) => b.cells.length - a.cells.length).slice(0, MOST_REGIONS);
  regions.sort((a, b) => (a.address < b.address ? -1 : 1));
  const unit = pages.cell;
  const readout = h("p", { class: "readout", attr: { "aria-live": "polite" } }, "Point at a page, or use the arrow keys, to read it out.");
  const maps = h("div", { class: "page-maps" });
  let width = 0;
  function draw(): void {
    const columns = Math.max(8, Math.floor(maps.clientWidth / SQUARE));
    const total = regions.reduce((n, r) => n + r.cells.length, 0);
    const together = Math.max(1, Math.ceil(total / (columns * MOST_ROWS)));
    maps.replaceChildren(...regions.map((region) => drawn(region, columns, together, unit, readout)));
  }
  new ResizeObserver(() => {
    if (maps.clientWidth === width || maps.clientWidth === 0) return;
    width = maps.clientWidth;
    draw();
  }).observe(maps);
  onTheme(draw);
  const keys: Child[] = CLASSES.map((c) => h("span", { class: "key" }, h("span", { class: `dot ${c.name}` }), c.label));
  keys.push(h("span", { class: "key" }, h("span", { class: "dot page-absent" }), "not resident"));
  const facts = [
    `${bytes(pages.resident_bytes)} of the heap resident`,
    `${share(pages.used, 1)} of it in use`,
    `${bytes(pages.empty_bytes)} in empty pages`,
    `${bytes(pages.sparse_bytes)} in pages that are at most a quarter full`,
  ];
  const hidden = all.length - regions.length;
  return section(
    "pages",
    "Page map",
    `How full the heap's pages were at ${time(pages.time_ns)}, in the order of their addresses.`,
    h("p", {}, `${facts.join(" · ")}.`),
    h("p", { class: "keys" }, ...keys),
    maps,
    hidden > 0 ? h("p", { class: "note" }, `and ${counted(hidden, "smaller region", "smaller regions")}`) : null,
    readout,
    pinned(model),
  );
}

/** The places whose blocks keep pages resident. */
function pinned(model: Model): HTMLElement | null {
  const places = sorted(groups(model, "line"), "pinned").filter((group) => group.sums.pinned > 0);
  if (places.length === 0) return null;
  const rows = places.slice(0, 5).map((group) =>
    h("li", {}, h("strong", {}, bytes(group.sums.pinned)), " by ", place(model, group.frame))
  );
  return h("div", { class: "evidence" }, h("h4", {}, "Places that keep mostly empty pages resident"), h("ul", {}, ...rows));
}

function drawn(region: Region, columns: number, together: number, unit: number, readout: HTMLElement): HTMLElement {
  const cells = coarser(region.cells, together);
  const rows = Math.ceil(cells.length / columns);
  const wide = Math.min(columns, cells.length) * SQUARE;
  const from = `0x${region.address.toString(16)}`;
  const size = bytes(region.cells.length * unit);
  const canvas = h("canvas", {
    attr: { tabindex: "0", role: "img", "aria-label": `${size} of heap from ${from}: arrow keys read out pages` },
  });
  const ratio = devicePixelRatio || 1;
  canvas.width = wide * ratio;
  canvas.height = rows * SQUARE * ratio;
  canvas.style.width = `${wide}px`;
  canvas.style.height = `${rows * SQUARE}px`;
  const context = canvas.getContext("2d");
  const ink = CLASSES.map((c) => color(c.name));
  const absent = color("page-absent");
  let at = -1;
  function paint(i: number): void {
    if (!context) return;
    const cell = cells[i]!;
    const kind = CLASSES.findIndex((c) => cell <= c.most);
    context.fillStyle = cell === ABSENT ? absent : (ink[kind] ?? absent);
    const [x, y] = [(i % columns) * SQUARE, Math.floor(i / columns) * SQUARE];
    context.clearRect(x, y, SQUARE, SQUARE);
    context.fillRect(x, y, SQUARE - 1, SQUARE - 1);
    if (i === at) {
      context.strokeStyle = color("text");
      context.lineWidth = 2;
      context.strokeRect(x + 0.5, y + 0.5, SQUARE - 2, SQUARE - 2);
    }
  }
  context?.scale(ratio, ratio);
  for (let i = 0; i < cells.length; i++) paint(i);
  function move(to: number): void {
    const old = at;
    at = Math.min(cells.length - 1, Math.max(0, to));
    if (old >= 0) paint(old);
    paint(at);
    const cell = cells[at]!;
    const address = region.address + BigInt(at * together) * BigInt(unit);
    const state = cell === ABSENT ? "not resident" : `${share(cell, FULL)} in use`;
    readout.textContent = `0x${address.toString(16)}, ${bytes(unit * together)}: ${state}`;
  }
  canvas.addEventListener("mousemove", (event) => {
    const area = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - area.left) / SQUARE);
    const row = Math.floor((event.clientY - area.top) / SQUARE);
    if (column >= 0 && column < columns && row * columns + column < cells.length) move(row * columns + column);
  });
  canvas.addEventListener("keydown", (event) => {
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
    if (!(event.key in steps)) return;
    move(at < 0 ? 0 : at + steps[event.key]!);
    event.preventDefault();
  });
  const scale = together > 1 ? ` · a square is ${bytes(unit * together)}` : "";
  return h("figure", { class: "region" }, h("figcaption", {}, h("span", { class: "file" }, from), ` · ${size}${scale}`), canvas);
}
