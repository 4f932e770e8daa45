/** Rows of the two trees of calls: from the outermost function inwards, and from where blocks are allocated outwards. */

import { calleesBySize, outermost, sums, sumsByKey, type Tree } from "./tree.ts";

/** A row of a tree. */
export interface CallRow {
  frame: number;
  /** Of the stacks that end here. */
  own: number;
  /** Of all stacks through it, each once; undefined where it is a part of `own` and nothing else. */
  total: number | undefined;
  /** Whether there is anything below it. */
  opens: boolean;
  /** The rows below it, those with most first. */
  below: () => CallRow[];
}

/** Callers above, what they call below. `ends` has the node at which each stack ends, and `values` what it has. */
export function topDown(tree: Tree, ends: ArrayLike<number>, values: ArrayLike<number>): CallRow[] {
  const own = atNodes(tree, ends, values);
  const total = sums(tree, ends, values);
  const below = (node: number): CallRow[] =>
    calleesBySize(tree, total, node).map((callee) => ({
      frame: tree.frame[callee]!,
      own: own[callee]!,
      total: total[callee]!,
      opens: total[callee]! > own[callee]!,
      below: () => below(callee),
    }));
  return below(0);
}

/** Where stacks end first, and below it who called that. `keyOf` has a number for the name of each frame. */
export function bottomUp(
  tree: Tree,
  ends: ArrayLike<number>,
  values: ArrayLike<number>,
  keyOf: ArrayLike<number>,
  keys: number,
): CallRow[] {
  const own = atNodes(tree, ends, values);
  const total = sumsByKey(tree, sums(tree, ends, values), keyOf, outermost(tree, keyOf, keys), keys);
  const all: Part[] = [];
  for (let node = 1; node < own.length; node++) {
    if (own[node]! > 0) all.push({ node, value: own[node]! });
  }
  return grouped(tree, all, keyOf).map((row) => ({ ...row, total: total[keyOf[row.frame]!]! }));
}

/** What a node has of a row. */
interface Part {
  node: number;
  value: number;
}

function grouped(tree: Tree, parts: readonly Part[], keyOf: ArrayLike<number>): CallRow[] {
  const byKey = new Map<number, Part[]>();
  for (const part of parts) {
    const key = keyOf[tree.frame[part.node]!]!;
    const list = byKey.get(key);
    if (list) list.push(part);
    else byKey.set(key, [part]);
  }
  const rows = [...byKey.values()].map((list) => ({
    frame: tree.frame[list[0]!.node]!,
    own: list.reduce((sum, part) => sum + part.value, 0),
    total: undefined,
    // The root is no caller.
    opens: list.some((part) => tree.caller[part.node] !== 0),
    below: () =>
      grouped(tree, list.filter((part) => tree.caller[part.node] !== 0).map(({ node, value }) => ({ node: tree.caller[node]!, value })), keyOf),
  }));
  return rows.sort((a, b) => b.own - a.own || a.frame - b.frame);
}

function atNodes(tree: Tree, ends: ArrayLike<number>, values: ArrayLike<number>): Float64Array {
  const own = new Float64Array(tree.caller.length);
  for (let site = 0; site < ends.length; site++) own[ends[site]!]! += values[site] ?? 0;
  return own;
}
