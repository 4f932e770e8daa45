/** Puts the page together. */

import "./style.css";
import type { Data } from "./data.ts";
import { h } from "./dom.ts";
import { Model } from "./model.ts";
import { findings } from "./parts/findings.ts";
import { flame } from "./parts/flame.ts";
import { caveats, head } from "./parts/head.ts";
import { linesView } from "./parts/lines.ts";
import { pageMap } from "./parts/pagemap.ts";
import { sitesTable } from "./parts/sites.ts";
import { sizes } from "./parts/sizes.ts";
import { sourceFiles } from "./parts/source.ts";
import { spans } from "./parts/spans.ts";
import { threads } from "./parts/threads.ts";
import { timeline } from "./parts/timeline.ts";
import { trees } from "./parts/trees.ts";
import { waterfall } from "./parts/waterfall.ts";
import { themeSwitch } from "./theme.ts";

/** Parts by the names that the strip at the top has room for. */
const SHORT: Record<string, string> = {
  caveats: "Warnings",
  findings: "Findings",
  accounting: "Resident memory",
  timeline: "Timeline",
  spans: "Spans",
  flame: "Flame graph",
  trees: "Trees",
  source: "Source",
  sites: "Call sites",
  sizes: "Sizes",
  pages: "Pages",
  threads: "Threads",
  sources: "Files",
};

function start(): void {
  const source = document.getElementById("data");
  const app = document.getElementById("app");
  if (!source || !app) return;
  const data = JSON.parse(source.textContent ?? "") as Data;
  // The text is not needed again, and may be large.
  source.remove();
  const model = new Model(data);
  const lines = linesView(model, showFinding);
  const link = {
    has: (frame: number): boolean => lines?.has(frame) ?? false,
    show: (frame: number): void => void lines?.show(frame),
  };
  const flameGraph = flame(model, link);
  const table = sitesTable(model, showFlame, link);
  const found = findings(model, { sites: showSites, flame: showFlame, source: link });
  function showFlame(text: string): void {
    reveal(flameGraph.element);
    flameGraph.search(text);
  }
  function showSites(text: string): void {
    reveal(table.element);
    table.filter(text);
  }
  function showFinding(i: number): void {
    const card = found.querySelector<HTMLElement>(`[data-place="${i}"]`);
    card?.closest("details")?.setAttribute("open", "");
    if (card) reveal(card);
  }
  const parts = [
    head(model, showFinding),
    caveats(model),
    found,
    waterfall(model),
    timeline(model),
    spans(model),
    flameGraph.element,
    trees(model, link),
    lines?.element ?? null,
    table.element,
    sizes(model),
    pageMap(model),
    threads(model),
    sourceFiles(model),
  ].filter((part) => part !== null);
  const links = parts.slice(1).map((part) =>
    h("a", { attr: { href: `#${part.id}` } }, SHORT[part.id] ?? part.id)
  );
  app.append(
    h("a", { class: "skip", attr: { href: "#findings" } }, "To the findings"),
    h(
      "header",
      { class: "top" },
      h("div", { class: "top-row" }, h("span", { class: "brand" }, "heapwise"), h("nav", { attr: { "aria-label": "Parts" } }, ...links), themeSwitch()),
    ),
    h("main", {}, ...parts),
    h("footer", {}, `heapwise ${data.heapwise} · numbers of requested bytes unless they say otherwise · nothing in this file leaves your machine`),
  );
  // After what was built has been drawn: says to tests when the page could be used.
  requestAnimationFrame(() => setTimeout(() => {
    document.documentElement.dataset["ready"] = String(Math.round(performance.now()));
  }));
}

function reveal(element: HTMLElement): void {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "start" });
}

start();
