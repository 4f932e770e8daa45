/** Where the boxes of a flame graph are. */

import { calleesBySize, outwards, type Tree } from "./tree.ts";

export interface Box {
  node: number;
  /** From 0 to the width that was asked for. */
  x: number;
  width: number;
}

/** Boxes narrower than this are left out, with all inside of them. */
const NARROWEST = 0.6;

/**
 * The boxes in rows, outermost first, each row from left to right. The node that is zoomed on and its callers have the
 * whole width; inside of it each box has its share.
 */
export function layout(tree: Tree, total: Float64Array, zoomed: number, width: number): Box[][] {
  const rows: Box[][] = [];
  const path = outwards(tree, zoomed).reverse();
  for (const node of path) rows.push([{ node, x: 0, width }]);
  if (!(total[zoomed]! > 0)) return rows;
  let row = rows[rows.length - 1]!;
  while (row.length > 0) {
    const inner: Box[] = [];
    for (const box of row) {
      const scale = box.width / total[box.node]!;
      let x = box.x;
      for (const node of calleesBySize(tree, total, box.node)) {
        const wide = total[node]! * scale;
        // They come in order of their size: the rest is narrower still.
        if (wide < NARROWEST) break;
        inner.push({ node, x, width: wide });
        x += wide;
      }
    }
    if (inner.length > 0) rows.push(inner);
    row = inner;
  }
  return rows;
}

/** The box at a place, if there is one. */
export function boxAt(rows: readonly Box[][], depth: number, x: number): Box | undefined {
  const row = rows[depth];
  if (!row) return undefined;
  let low = 0;
  let high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle]!.x <= x) low = middle + 1;
    else high = middle;
  }
  const box = row[low - 1];
  return box && x < box.x + box.width ? box : undefined;
}

/** The name, or as much of its end as `most` characters hold: the last parts of a path tell most. */
export function fitted(name: string, most: number): string {
  if (name.length <= most) return name;
  const parts = name.split("::");
  for (let i = 1; i < parts.length; i++) {
    const rest = parts.slice(i).join("::");
    // A closure says nothing without what it is in.
    if (rest.startsWith("{")) break;
    if (rest.length <= most) return rest;
  }
  let last = parts.length - 1;
  while (last > 0 && parts[last]!.startsWith("{")) last--;
  const tail = parts.slice(last).join("::");
  return most < 3 ? "" : `${tail.slice(0, most - 1)}…`;
}
