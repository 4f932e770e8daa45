/** The data in the shape in which the parts of the page use them. */

import type { Data, Excerpt, Sites } from "./data.ts";
import { bytes, count, time } from "./format.ts";
import { mergedLines, outwards, treeOf, type Tree } from "./tree.ts";

export type MeasureId = "allocations" | "bytes" | "peak_bytes" | "exit_bytes" | "temporary" | "time" | "pinned" | "samples";

/** Something that sites have more or less of. */
export interface Measure {
  id: MeasureId;
  label: string;
  /** What it is, in a sentence. */
  help: string;
  format: (n: number) => string;
}

const MEASURES: Measure[] = [
  { id: "allocations", label: "Allocations", help: "blocks that were handed out", format: count },
  { id: "bytes", label: "Bytes", help: "requested over the whole run, freed or not", format: bytes },
  { id: "peak_bytes", label: "Peak", help: "live bytes at the moment of the highest heap", format: bytes },
  { id: "exit_bytes", label: "Live at exit", help: "bytes that were not freed at the end", format: bytes },
  { id: "temporary", label: "Temporary", help: "blocks freed before their thread allocated again", format: count },
  { id: "time", label: "Allocator time", help: "measured time inside the allocator", format: time },
  { id: "pinned", label: "Pinned", help: "free bytes in pages that the blocks keep resident", format: bytes },
  { id: "samples", label: "Samples", help: "requests that were recorded: the more, the better the estimates", format: count },
];

/** Whose code a frame is, by the number in the data. */
export const OWNERS = ["system", "system", "library", "library", "dependency", "user"] as const;
export type Owner = (typeof OWNERS)[number];

export const OWNER_NAMES: Record<Owner, string> = {
  user: "your code",
  dependency: "a dependency",
  library: "the standard library",
  system: "the system or the allocator",
};

/** A frame in words. */
export interface FrameText {
  name: string;
  full: string;
  /** `file:line`, or the object file. */
  place: string;
  longPlace: string;
  owner: Owner;
  inlined: boolean;
}

export class Model {
  readonly tree: Tree;
  /** Those that were measured. */
  readonly measures: Measure[];
  readonly sums = new Map<MeasureId, number>();
  #merged: { tree: Tree; to: Int32Array } | undefined;
  #texts: (FrameText | undefined)[] = [];
  #excerpts = new Map<number, Excerpt>();

  constructor(readonly data: Data) {
    this.tree = treeOf(data.nodes.up, data.nodes.frame);
    for (const measure of MEASURES) this.sums.set(measure.id, sum(data.sites[measure.id]));
    // What follows a block cannot be seen in a sample.
    const absent = new Set<MeasureId>(data.sampling ? ["temporary"] : []);
    this.measures = MEASURES.filter((m) => data.sites[m.id].length > 0 && !absent.has(m.id));
    for (const excerpt of data.sources) this.#excerpts.set(excerpt.frame, excerpt);
  }

  get sites(): Sites {
    return this.data.sites;
  }

  get nSites(): number {
    return this.data.sites.node.length;
  }

  measure(id: MeasureId): Measure {
    return MEASURES.find((m) => m.id === id)!;
  }

  text(number: number): string {
    return this.data.strings[number] ?? "";
  }

  /** The tree without lines; made when it is first asked for. */
  get merged(): { tree: Tree; to: Int32Array } {
    // Frames without a function have their address as name.
    const { frames } = this.data;
    this.#merged ??= mergedLines(this.tree, frames.function.map((f, i) => (f > 0 ? f : -1 - frames.name[i]!)));
    return this.#merged;
  }

  frame(number: number): FrameText {
    return (this.#texts[number] ??= this.#frame(number));
  }

  #frame(number: number): FrameText {
    const { frames } = this.data;
    const name = this.text(frames.name[number] ?? 0);
    const line = frames.line[number] ?? 0;
    const withLine = (path: string): string => (path && line > 0 ? `${path}:${line}` : path);
    const module = this.text(frames.module[number] ?? 0);
    return {
      name,
      full: this.text(frames.function[number] ?? 0) || name,
      place: withLine(this.text(frames.path[number] ?? 0)) || (module.split("/").pop() ?? ""),
      longPlace: withLine(this.text(frames.file[number] ?? 0)) || module,
      owner: OWNERS[frames.owner[number] ?? 0] ?? "system",
      inlined: frames.inlined[number] === 1,
    };
  }

  /** The frame of the user's nearest call in a site, or that of the innermost one. */
  userFrame(site: number): number {
    const user = this.sites.user[site] ?? -1;
    return this.tree.frame[user >= 0 ? user : this.sites.node[site]!]!;
  }

  /** What the user's nearest frame calls for its blocks: `String::clone`, `xmalloc`. Empty if it calls the allocator itself. */
  via(site: number): string {
    const user = this.sites.user[site] ?? -1;
    let node = this.sites.node[site]!;
    if (user < 0 || node === user) return "";
    while (this.tree.caller[node] !== user && node > user) node = this.tree.caller[node]!;
    const frame = this.tree.frame[node]!;
    // An address says nothing about what was called.
    return this.data.frames.function[frame]! > 0 ? lastParts(this.frame(frame).name) : "";
  }

  excerpt(frame: number): Excerpt | undefined {
    return this.#excerpts.get(frame);
  }

  /** Frames of a site from the innermost outwards, without the root. */
  stack(site: number): number[] {
    return outwards(this.tree, this.sites.node[site]!).slice(0, -1).map((node) => this.tree.frame[node]!);
  }

  /** Whether a frame has a text in its names; `text` is in lower case. */
  frameHas(frame: number, text: string): boolean {
    const { name, full, place, longPlace } = this.frame(frame);
    return [full, longPlace, name, place].some((part) => part.toLowerCase().includes(text));
  }
}

/** `String::clone` of `alloc::string::String::clone`; a closure keeps the function that it is in. */
function lastParts(name: string): string {
  const parts = name.split("::").filter((part) => part !== "");
  let closures = 0;
  while (parts.at(-1 - closures)?.startsWith("{")) closures++;
  return parts.slice(-2 - closures).join("::");
}

function sum(values: readonly number[]): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
