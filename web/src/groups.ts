/** Call sites put together by what they have in common, and the order in which they are shown. */

import type { MeasureId, Model } from "./model.ts";
import { within } from "./tree.ts";

export type GroupBy = "line" | "function" | "stack";

export interface Group {
  /** The frame that names it: the user's nearest one. */
  frame: number;
  sites: number[];
  sums: Record<MeasureId, number>;
  reallocations: number;
  peakBlocks: number;
  exitBlocks: number;
  otherThread: number;
}

function empty(frame: number): Group {
  const sums = { allocations: 0, bytes: 0, peak_bytes: 0, exit_bytes: 0, temporary: 0, time: 0, pinned: 0, samples: 0 };
  return { frame, sites: [], sums, reallocations: 0, peakBlocks: 0, exitBlocks: 0, otherThread: 0 };
}

/** Several parts of the page ask for the groups of all sites. */
const whole = new WeakMap<Model, Map<GroupBy, Group[]>>();

/** The groups of all sites, or of those whose stack has a frame with a text in its name or place. */
export function groups(model: Model, by: GroupBy, filter = ""): readonly Group[] {
  const text = filter.trim().toLowerCase();
  if (text) return collected(model, by, text);
  let known = whole.get(model);
  if (!known) whole.set(model, (known = new Map()));
  let list = known.get(by);
  if (!list) known.set(by, (list = collected(model, by, "")));
  return list;
}

function collected(model: Model, by: GroupBy, text: string): Group[] {
  const inside = text ? within(model.tree, (frame) => model.frameHas(frame, text)) : undefined;
  const keys = new Map<number, string>();
  const known = new Map<string | number, Group>();
  const list: Group[] = [];
  for (let site = 0; site < model.nSites; site++) {
    if (inside && !inside[model.sites.node[site]!]) continue;
    const frame = model.userFrame(site);
    const key = by === "stack" ? site : keyOf(model, by, frame, keys);
    let group = known.get(key);
    if (!group) {
      group = empty(frame);
      known.set(key, group);
      list.push(group);
    }
    add(model, group, site);
  }
  return list;
}

function keyOf(model: Model, by: GroupBy, frame: number, keys: Map<number, string>): string {
  let key = keys.get(frame);
  if (key === undefined) {
    const { frames } = model.data;
    const parts = [frames.name[frame], frames.path[frame]];
    if (by === "line") parts.push(frames.line[frame]);
    keys.set(frame, (key = parts.join(" ")));
  }
  return key;
}

function add(model: Model, group: Group, site: number): void {
  const { sites } = model;
  group.sites.push(site);
  for (const measure of model.measures) group.sums[measure.id] += sites[measure.id][site] ?? 0;
  group.reallocations += sites.reallocations[site]!;
  group.peakBlocks += sites.peak_blocks[site]!;
  group.exitBlocks += sites.exit_blocks[site]!;
  group.otherThread += sites.other_thread[site]!;
}

/** The groups with most of a measure first; equal ones stay in their order. */
export function sorted(list: readonly Group[], by: MeasureId, ascending = false): Group[] {
  const sign = ascending ? 1 : -1;
  return [...list].sort((a, b) => sign * (a.sums[by] - b.sums[by]));
}

/** The sites of a group, most of a measure first. */
export function leadingSites(model: Model, group: Group, by: MeasureId, most: number): number[] {
  const values = model.sites[by];
  return [...group.sites].sort((a, b) => (values[b] ?? 0) - (values[a] ?? 0)).slice(0, most);
}
