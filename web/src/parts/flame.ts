/**
 * The flame graph: callers above, callees below them, each as wide as its share.
 *
 * It is drawn on a canvas that covers only what is seen of it, since stacks may be thousands of frames deep and boxes
 * many; beside it a line of text says what is under the cursor, for those who do not see colours or boxes.
 */

import { choice, h, section } from "../dom.ts";
import { share } from "../format.ts";
import { boxAt, fitted, layout, type Box } from "../flame_layout.ts";
import { OWNER_NAMES, type MeasureId, type Model, type Owner } from "../model.ts";
import { color, onTheme } from "../theme.ts";
import { calleesBySize, outwards, sums, within, type Tree } from "../tree.ts";
import { excerpt, sourceButton, type SourceLink } from "./source.ts";

const ROW = 18;
const FONT = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const DEFAULT: MeasureId = "allocations";

export interface Flame {
  element: HTMLElement;
  search: (text: string) => void;
}

export function flame(model: Model, link: SourceLink): Flame {
  let measure: MeasureId = DEFAULT;
  let lines = true;
  let tree: Tree = model.tree;
  let total: Float64Array = new Float64Array();
  let zoomed = 0;
  let chosen = 0;
  let rows: Box[][] = [];
  let text = "";
  let inside: Uint8Array | undefined;
  let palette: Record<Owner | "text" | "faint" | "edge" | "chosen" | "match" | "root", string> | undefined;

  const canvas = h("canvas", { attr: { "aria-hidden": "true" } });
  const spacer = h("div", { class: "flame-spacer" });
  const scroller = h("div", {
    class: "flame-scroller",
    attr: {
      tabindex: "0",
      role: "application",
      "aria-label": "Flame graph. Arrow keys move, Enter zooms, Escape zooms out, slash searches.",
      "aria-describedby": "flame-detail",
    },
  }, canvas, spacer);
  const tip = h("div", { class: "tip", attr: { role: "presentation" } });
  tip.hidden = true;
  const detail = h("div", { class: "flame-detail", id: "flame-detail", attr: { "aria-live": "polite" } });
  const found = h("span", { class: "note found", attr: { "aria-live": "polite" } });
  const unseen = h("span", { class: "note" });
  const search = h("input", {
    id: "flame-search",
    attr: { type: "search", placeholder: "Search function or file", "aria-label": "Search the flame graph", spellcheck: "false" },
    on: { input: () => setSearch(search.value) },
  });
  const reset = h("button", { attr: { type: "button" }, on: { click: () => zoom(0) } }, "Reset zoom");

  function values(): void {
    const { sites } = model;
    if (lines) {
      tree = model.tree;
      total = sums(tree, sites.node, sites[measure]);
    } else {
      const merged = model.merged;
      tree = merged.tree;
      total = sums(tree, sites.node.map((node) => merged.to[node]!), sites[measure]);
    }
    inside = undefined;
  }

  function arrange(): void {
    const width = scroller.clientWidth;
    if (width === 0) return;
    rows = layout(tree, total, zoomed, width);
    spacer.style.height = `${rows.length * ROW + 2}px`;
    scroller.style.height = `${Math.min(Math.max(rows.length, 4) * ROW + 4, Math.round(innerHeight * 0.7), 640)}px`;
    reset.disabled = zoomed === 0;
    draw();
  }

  function colors(): NonNullable<typeof palette> {
    return (palette ??= {
      user: color("owner-user"),
      dependency: color("owner-dependency"),
      library: color("owner-library"),
      system: color("owner-system"),
      text: color("flame-text"),
      faint: color("flame-faint"),
      edge: color("card"),
      chosen: color("text"),
      match: color("match"),
      root: color("flame-root"),
    });
  }

  function draw(): void {
    const context = canvas.getContext("2d");
    const [width, height] = [scroller.clientWidth, scroller.clientHeight];
    if (!context || width === 0) return;
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = FONT;
    context.textBaseline = "middle";
    const ink = colors();
    const letter = context.measureText("0").width;
    const top = scroller.scrollTop;
    if (text && !inside) inside = within(tree, (frame) => model.frameHas(frame, text));
    for (let depth = Math.floor(top / ROW); depth <= (top + height) / ROW && depth < rows.length; depth++) {
      const y = depth * ROW - top;
      for (const box of rows[depth]!) {
        const frame = model.frame(tree.frame[box.node]!);
        const isMatch = text !== "" && model.frameHas(tree.frame[box.node]!, text) && box.node !== 0;
        const faint = text !== "" && !isMatch;
        context.globalAlpha = faint ? 0.3 : 1;
        context.fillStyle = box.node === 0 ? ink.root : isMatch ? ink.match : ink[frame.owner];
        const wide = Math.max(0.5, box.width - (box.width > 3 ? 1 : 0));
        context.fillRect(box.x, y, wide, ROW - 1);
        context.globalAlpha = faint ? 0.6 : 1;
        const room = Math.floor((box.width - 8) / letter);
        if (room >= 3) {
          context.fillStyle = ink.text;
          context.fillText(labelOf(box.node, room), box.x + 4, y + ROW / 2);
        }
        if (box.node === chosen && chosen !== 0) {
          context.globalAlpha = 1;
          context.strokeStyle = ink.chosen;
          context.lineWidth = 2;
          context.strokeRect(box.x + 1, y + 1, Math.max(1, wide - 2), ROW - 3);
        }
      }
    }
    context.globalAlpha = 1;
    const above = Math.ceil(top / ROW - 0.5);
    const below = Math.floor(rows.length - (top + height) / ROW + 0.5);
    unseen.textContent = above + below > 0 ? `scroll: ${Math.max(0, above)} rows above, ${Math.max(0, below)} below` : "";
  }

  function labelOf(node: number, room: number): string {
    if (node === 0) return fitted(`everything · ${model.measure(measure).format(total[0] ?? 0)}`, room);
    const frame = tree.frame[node]!;
    const { name, owner } = model.frame(frame);
    const line = model.data.frames.line[frame] ?? 0;
    const suffix = lines && owner === "user" && line > 0 ? `:${line}` : "";
    return suffix && room > suffix.length + 6 ? fitted(name, room - suffix.length) + suffix : fitted(name, room);
  }

  function describe(node: number): HTMLElement[] {
    const { format, label } = model.measure(measure);
    const amount = `${format(total[node] ?? 0)} · ${share(total[node] ?? 0, total[0] ?? 0)} of ${label.toLowerCase()}`;
    if (node === 0) return [h("strong", {}, "everything"), h("span", { class: "amount" }, amount)];
    const frame = model.frame(tree.frame[node]!);
    return [
      h("strong", {}, frame.full),
      h("span", { class: "file" }, lines ? frame.longPlace : frame.longPlace.replace(/:\d+$/, "")),
      h("span", { class: "amount" }, amount),
      h("span", { class: "note" }, `${OWNER_NAMES[frame.owner]}${frame.inlined ? ", inlined" : ""}`),
    ];
  }

  function choose(node: number, reveal = true): void {
    chosen = node;
    detail.replaceChildren(...describe(node));
    const source = node === 0 ? null : excerpt(model, [tree.frame[node]!]);
    if (source) detail.append(source);
    const button = node === 0 || !lines ? null : sourceButton(link, tree.frame[node]!);
    if (button) detail.append(h("p", { class: "actions" }, button));
    const depth = outwards(tree, node).length - 1;
    if (reveal) {
      const y = depth * ROW;
      if (y < scroller.scrollTop) scroller.scrollTop = y;
      else if (y + ROW > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = y + ROW - scroller.clientHeight;
    }
    draw();
  }

  function zoom(node: number): void {
    zoomed = node;
    arrange();
    choose(node);
  }

  function refresh(): void {
    values();
    zoomed = 0;
    arrange();
    choose(0, false);
    startWhereItForks();
    count();
  }

  /** What leads to a program's own code is a tower of boxes that say nothing: it is above, and can be scrolled to. */
  function startWhereItForks(): void {
    const depth = rows.findIndex((row) => row.length > 1);
    scroller.scrollTop = rows.length * ROW > scroller.clientHeight ? Math.max(0, depth - 4) * ROW : 0;
  }

  function count(): void {
    if (!text) {
      found.textContent = "";
      return;
    }
    inside ??= within(tree, (frame) => model.frameHas(frame, text));
    let part = 0;
    for (let n = 1; n < inside.length; n++) {
      // The outermost match of a stack stands for all that is inside of it.
      if (inside[n] && !inside[tree.caller[n]!]) part += total[n]!;
    }
    found.textContent = part > 0 ? `${share(part, total[0] ?? 0)} matches` : "no match";
  }

  function setSearch(value: string): void {
    text = value.trim().toLowerCase();
    inside = undefined;
    count();
    draw();
  }

  function boxUnder(event: MouseEvent): Box | undefined {
    const area = scroller.getBoundingClientRect();
    const depth = Math.floor((event.clientY - area.top + scroller.scrollTop) / ROW);
    return boxAt(rows, depth, event.clientX - area.left);
  }

  scroller.addEventListener("scroll", () => draw());
  scroller.addEventListener("pointermove", (event) => {
    // A finger hides what is under it, and the line below says the same.
    if (event.pointerType === "touch") return;
    const box = boxUnder(event);
    tip.hidden = !box;
    if (!box) return;
    tip.replaceChildren(...describe(box.node));
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18;
    const top = below + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : below;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${Math.max(8, top)}px`;
  });
  scroller.addEventListener("pointerleave", () => (tip.hidden = true));
  scroller.addEventListener("click", (event) => {
    const box = boxUnder(event);
    if (box) zoom(box.node);
  });
  scroller.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = moved(event.key);
    if (event.key === "Enter" || event.key === " ") zoom(chosen);
    else if (event.key === "Escape" || event.key === "Backspace") zoom(event.key === "Escape" ? 0 : tree.caller[zoomed]!);
    else if (event.key === "/") search.focus();
    else if (target !== undefined) choose(target);
    else return;
    event.preventDefault();
  });

  function moved(key: string): number | undefined {
    if (key === "ArrowDown") return calleesBySize(tree, total, chosen)[0] ?? chosen;
    if (key === "ArrowUp") return tree.caller[chosen];
    if (key === "Home") return 0;
    if (key !== "ArrowLeft" && key !== "ArrowRight") return undefined;
    const beside = calleesBySize(tree, total, tree.caller[chosen]!);
    const at = beside.indexOf(chosen) + (key === "ArrowRight" ? 1 : -1);
    return beside[at] ?? chosen;
  }

  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      const first = firstMatch();
      if (first !== undefined) {
        zoom(first);
        scroller.focus();
      }
    } else if (event.key === "Escape") {
      search.value = "";
      setSearch("");
    }
  });

  /** The largest of the outermost matches. */
  function firstMatch(): number | undefined {
    if (!text) return undefined;
    inside ??= within(tree, (frame) => model.frameHas(frame, text));
    let best: number | undefined;
    for (let n = 1; n < inside.length; n++) {
      if (inside[n] && !inside[tree.caller[n]!] && total[n]! > (best === undefined ? 0 : total[best]!)) best = n;
    }
    return best;
  }

  let width = 0;
  new ResizeObserver(() => {
    if (scroller.clientWidth === width) return;
    const first = width === 0;
    width = scroller.clientWidth;
    arrange();
    if (first) startWhereItForks();
  }).observe(scroller);
  onTheme(() => {
    palette = undefined;
    draw();
  });

  const measures = choice(
    "Measure",
    model.measures.map((m) => ({ id: m.id, label: m.label, title: m.help })),
    measure,
    (id) => {
      measure = id;
      refresh();
    },
  );
  const owners: [string, string][] = [["user", "your code"], ["dependency", "dependencies"], ["library", "standard library"], ["system", "system and allocator"]];
  const keys = owners.map(([id, name]) => h("span", { class: "key" }, h("span", { class: `dot owner-dot-${id}` }), name));
  const byLine = h("input", {
    attr: { type: "checkbox", checked: "" },
    on: { change: () => { lines = byLine.checked; refresh(); } },
  });
  const element = section(
    "flame",
    "Flame graph",
    "Callers above, what they call below. Click a box to zoom in; Escape zooms out.",
    h("div", { class: "controls" }, measures),
    h("div", { class: "controls" }, search, found, h("span", { class: "push" }), h("label", { class: "check" }, byLine, "Distinguish lines"), reset),
    h("p", { class: "keys" }, ...keys, h("span", { class: "push" }), unseen),
    scroller,
    detail,
    tip,
  );
  values();
  detail.replaceChildren(...describe(0));
  return {
    element,
    search: (value) => {
      search.value = value;
      setSearch(value);
      const first = firstMatch();
      zoom(first ?? 0);
    },
  };
}
