/** Which thread freed the blocks of which, as a square of numbers. */

import type { Thread } from "./data.ts";

export interface Matrix {
  names: string[];
  /** By the thread that allocated, then by the one that freed. */
  cells: number[][];
  largest: number;
}

/** The threads that take part in most have separate rows; the others share the last one. */
export function matrix(
  threads: readonly Thread[],
  pairs: readonly (readonly [number, number, number])[],
  most: number,
  name: (thread: Thread) => string,
): Matrix {
  const weight = new Map<number, number>();
  for (const [from, to, blocks] of pairs) {
    weight.set(from, (weight.get(from) ?? 0) + blocks);
    if (to !== from) weight.set(to, (weight.get(to) ?? 0) + blocks);
  }
  const taking = threads.filter((t) => weight.has(t.index));
  const leading = new Set(
    [...taking].sort((a, b) => (weight.get(b.index) ?? 0) - (weight.get(a.index) ?? 0)).slice(0, most).map((t) => t.index),
  );
  // In the order in which they joined, so that a row is where its column is.
  const shown = taking.filter((t) => leading.has(t.index));
  const names = shown.map(name);
  const rest = weight.size > shown.length;
  if (rest) names.push("others");
  const rowOf = new Map(shown.map((t, i) => [t.index, i]));
  const cells = names.map(() => names.map(() => 0));
  let largest = 1;
  for (const [from, to, blocks] of pairs) {
    const i = rowOf.get(from) ?? names.length - 1;
    const j = rowOf.get(to) ?? names.length - 1;
    const row = cells[i]!;
    row[j]! += blocks;
    largest = Math.max(largest, row[j]!);
  }
  return { names, cells, largest };
}
