/** What each line of source allocates, added up of the same stacks as everything else. */

import type { Sites } from "./data.ts";
import type { Model } from "./model.ts";
import { outermost, sums, sumsByKey } from "./tree.ts";

export type LineMeasure = "allocations" | "bytes" | "peak_bytes" | "temporary" | "estimate";

const LINE_MEASURES = ["allocations", "bytes", "peak_bytes", "temporary", "estimate"] as const;

/** Those that the recording has: a sample does not say what is temporary. */
export function lineMeasures(model: Model): LineMeasure[] {
  return LINE_MEASURES.filter((id) => !(id === "temporary" && model.data.sampling));
}

/** A line that occurs in stacks. */
export interface LineSum {
  line: number;
  /** A frame in it, for the name of its function. */
  frame: number;
  /** Of the sites whose place it is. */
  own: Record<LineMeasure, number>;
  /** Of the sites with it anywhere in their stack, each once. */
  whole: Record<LineMeasure, number>;
}

/** The lines of each file, ascending, by the number of its path. */
export type LineSums = Map<number, LineSum[]>;

const known = new WeakMap<Model, LineSums>();

/** Adds them up when they are first asked for. */
export function lineSums(model: Model): LineSums {
  let found = known.get(model);
  if (!found) known.set(model, (found = collected(model)));
  return found;
}

function none(): Record<LineMeasure, number> {
  return { allocations: 0, bytes: 0, peak_bytes: 0, temporary: 0, estimate: 0 };
}

function collected(model: Model): LineSums {
  const { frames, sites } = model.data;
  const { tree } = model;
  const lines: LineSum[] = [];
  const byFile: LineSums = new Map();
  const keys = new Map<string, number>();
  const keyOf = frames.line.map((line, frame) => {
    const file = frames.file[frame]!;
    if (line <= 0 || file <= 0) return -1;
    const name = `${file}:${line}`;
    let key = keys.get(name);
    if (key === undefined) {
      keys.set(name, (key = lines.length));
      const sum = { line, frame, own: none(), whole: none() };
      lines.push(sum);
      const list = byFile.get(file);
      if (list) list.push(sum);
      else byFile.set(file, [sum]);
    }
    return key;
  });
  const outer = outermost(tree, keyOf, lines.length);
  for (const measure of LINE_MEASURES) {
    const values = sites[measure];
    const whole = sumsByKey(tree, sums(tree, sites.node, values), keyOf, outer, lines.length);
    lines.forEach((line, key) => (line.whole[measure] = whole[key]!));
    addOwn(model, sites, measure, keyOf, lines);
  }
  for (const list of byFile.values()) list.sort((a, b) => a.line - b.line);
  return byFile;
}

function addOwn(model: Model, sites: Sites, measure: LineMeasure, keyOf: number[], lines: LineSum[]): void {
  for (let site = 0; site < model.nSites; site++) {
    const user = sites.user[site]!;
    const key = user < 0 ? -1 : keyOf[model.tree.frame[user]!]!;
    if (key >= 0) lines[key]!.own[measure] += sites[measure][site]!;
  }
}
