/** Resident and live bytes over time, with the program's marks and spans. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { h, section } from "../dom.ts";
import { bytes, byteSplits, time } from "../format.ts";
import type { Model } from "../model.ts";
import { color, onTheme } from "../theme.ts";
import { drawMarks, spanLanes, wording, type Plot } from "./strip.ts";

export function timeline(model: Model): HTMLElement {
  const { curves, marks } = model.data;
  const title = "Memory over time";
  if (curves.live.length < 2) {
    return section("timeline", title, "", h("p", { class: "empty" }, "The run was too short for a curve."));
  }
  const times = curves.live.map((_, i) => (i * curves.step_ns) / 1e9);
  const hasRss = curves.rss.some((rss) => rss !== null);
  const holder = h("div", {
    class: "chart",
    attr: { tabindex: "0", role: "img", "aria-label": `Memory over ${time(model.data.duration_ns)}: arrow keys read it out` },
  });
  const readout = h("p", { class: "readout", attr: { "aria-live": "polite" } }, hint());
  // Names of marks stand above the curves.
  const headroom = marks && marks.points.length > 0 ? 1.3 : 1.05;
  const strip = marks && spanLanes(model, marks);
  let plot: uPlot | undefined;

  function hint(): string {
    return "Drag to zoom, double-click or Escape to see all; arrow keys move the cursor.";
  }
  function say(i: number | null | undefined): void {
    if (i === null || i === undefined) {
      readout.textContent = hint();
      return;
    }
    const rss = curves.rss[i];
    const parts = [time(i * curves.step_ns), `live ${bytes(curves.live[i] ?? 0)}`];
    if (typeof rss === "number") parts.splice(1, 0, `resident ${bytes(rss)}`);
    if (marks) parts.push(...wording(model, marks, i * curves.step_ns, (i + 1) * curves.step_ns));
    readout.textContent = parts.join(" · ");
  }
  /** Draws over the curves and below them, when they were drawn. */
  function drawMarked(u: uPlot): void {
    if (!marks) return;
    const scale = uPlot.pxRatio;
    const where: Plot = {
      left: u.bbox.left / scale,
      top: u.bbox.top / scale,
      width: u.bbox.width / scale,
      height: u.bbox.height / scale,
      x: (ns) => u.valToPos(ns / 1e9, "x", true) / scale,
    };
    u.ctx.save();
    u.ctx.setTransform(scale, 0, 0, scale, 0, 0);
    drawMarks(u.ctx, model, marks, where);
    u.ctx.restore();
    strip?.draw(where);
  }
  function draw(): void {
    plot?.destroy();
    const axis = { stroke: color("muted"), grid: { stroke: color("grid"), width: 1 }, ticks: { stroke: color("grid") }, font: "12px system-ui, sans-serif" };
    const rssColor = color("rss");
    const liveColor = color("live");
    const series: uPlot.Series[] = [{}];
    const data: (number | null)[][] = [times];
    if (hasRss) {
      series.push({ label: "Resident (RSS)", stroke: rssColor, width: 1.5, fill: color("rss-fill"), points: { show: false } });
      data.push(curves.rss);
    }
    series.push({ label: "Live", stroke: liveColor, width: 1.5, fill: color("live-fill"), points: { show: false } });
    data.push(curves.live);
    plot = new uPlot(
      {
        width: Math.max(200, holder.clientWidth),
        height: holder.clientWidth < 600 ? 220 : 280,
        legend: { show: false },
        cursor: { y: false, points: { size: 7 } },
        scales: { x: { time: false }, y: { range: (_u, _min, max) => [0, Math.max(1, max * headroom)] } },
        series,
        axes: [
          { ...axis, space: 70, values: (_u, values) => values.map((v) => (v === 0 ? "0" : time(v * 1e9))) },
          { ...axis, size: 72, splits: (_u, _axis, min, max) => byteSplits(min, max), values: (_u, values) => values.map((v) => bytes(v)) },
        ],
        hooks: { setCursor: [(u) => say(u.cursor.idx)], draw: [drawMarked] },
      },
      data as uPlot.AlignedData,
      holder,
    );
  }
  holder.addEventListener("keydown", (event) => {
    if (!plot) return;
    const moves: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 };
    const n = times.length;
    if (event.key === "Escape") plot.setScale("x", { min: times[0]!, max: times[n - 1]! });
    else if (event.key in moves || event.key === "Home" || event.key === "End") {
      const from = plot.cursor.idx ?? 0;
      const to = event.key === "Home" ? 0 : event.key === "End" ? n - 1 : from + moves[event.key]!;
      const i = Math.min(n - 1, Math.max(0, to));
      plot.setCursor({ left: plot.valToPos(times[i]!, "x"), top: 10 });
      say(i);
    } else return;
    event.preventDefault();
  });
  let width = 0;
  new ResizeObserver(() => {
    if (holder.clientWidth !== width && holder.clientWidth > 0) {
      width = holder.clientWidth;
      draw();
    }
  }).observe(holder);
  onTheme(draw);
  const key = (name: string, label: string): HTMLElement => h("span", { class: "key" }, h("span", { class: `dot ${name}` }), label);
  return section(
    "timeline",
    title,
    "",
    h(
      "p",
      { class: "keys" },
      hasRss ? key("dot-rss", "Resident (RSS)") : null,
      key("dot-live", "Live: requested and not freed"),
      marks && marks.points.length > 0 ? key("dot-mark", "Marks of the program") : null,
      strip ? key("dot-span", "Its spans") : null,
    ),
    holder,
    strip?.element ?? null,
    readout,
  );
}
