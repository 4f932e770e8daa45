/**
 * Stacks as one tree of frames.
 *
 * A node comes after its caller, so sums over everything below a node take one pass from back to front, and nothing
 * here calls itself: a stack may be ten thousand frames deep.
 */

export interface Tree {
  /** The caller of each node; node 0 is the root and its own caller. */
  readonly caller: Int32Array;
  readonly frame: Int32Array;
  /** The callees of node `n` are `callees[first[n]]` to `callees[first[n + 1] - 1]`. */
  readonly first: Int32Array;
  readonly callees: Int32Array;
}

export function treeOf(up: readonly number[], frame: readonly number[]): Tree {
  const caller = new Int32Array(up.length);
  for (let n = 0; n < caller.length; n++) caller[n] = n - up[n]!;
  return withCallees(caller, Int32Array.from(frame));
}

function withCallees(caller: Int32Array, frame: Int32Array): Tree {
  const n = caller.length;
  const first = new Int32Array(n + 1);
  for (let i = 1; i < n; i++) first[caller[i]! + 1]!++;
  for (let i = 0; i < n; i++) first[i + 1]! += first[i]!;
  const next = first.slice();
  const callees = new Int32Array(Math.max(0, n - 1));
  for (let i = 1; i < n; i++) callees[next[caller[i]!]!++] = i;
  return { caller, frame, first, callees };
}

/** The tree in which calls from different lines of a function are one, and the node there of each node here. */
export function mergedLines(tree: Tree, functionOf: ArrayLike<number>): { tree: Tree; to: Int32Array } {
  const n = tree.caller.length;
  const to = new Int32Array(n);
  const caller: number[] = [0];
  const frame: number[] = [tree.frame[0] ?? 0];
  const known = new Map<number, Map<number, number>>();
  for (let i = 1; i < n; i++) {
    const above = to[tree.caller[i]!]!;
    const name = functionOf[tree.frame[i]!]!;
    let below = known.get(above);
    if (!below) known.set(above, (below = new Map()));
    let node = below.get(name);
    if (node === undefined) {
      node = caller.length;
      below.set(name, node);
      caller.push(above);
      frame.push(tree.frame[i]!);
    }
    to[i] = node;
  }
  return { tree: withCallees(Int32Array.from(caller), Int32Array.from(frame)), to };
}

/** For each node the sum over the sites at it and below it. */
export function sums(tree: Tree, nodes: ArrayLike<number>, values: ArrayLike<number>): Float64Array {
  const total = new Float64Array(tree.caller.length);
  for (let site = 0; site < nodes.length; site++) total[nodes[site]!]! += values[site]!;
  for (let n = total.length - 1; n > 0; n--) total[tree.caller[n]!]! += total[n]!;
  return total;
}

/** The callees of a node that have something, most first. */
export function calleesBySize(tree: Tree, total: Float64Array, node: number): number[] {
  const list: number[] = [];
  for (let i = tree.first[node]!; i < tree.first[node + 1]!; i++) {
    const callee = tree.callees[i]!;
    if (total[callee]! > 0) list.push(callee);
  }
  return list.sort((a, b) => total[b]! - total[a]! || a - b);
}

/** The nodes from one outwards to the root, both included. */
export function outwards(tree: Tree, node: number): number[] {
  const path = [node];
  while (node !== 0) {
    node = tree.caller[node]!;
    path.push(node);
  }
  return path;
}

/**
 * Nodes with a key that none of their callers has; `keyOf` has the key of each frame, or -1. What is below these counts each stack once
 * for its keys, however often a recursion has them.
 */
export function outermost(tree: Tree, keyOf: ArrayLike<number>, keys: number): Uint8Array {
  const found = new Uint8Array(tree.caller.length);
  const open = new Int32Array(keys);
  const next = tree.first.slice();
  const key = (node: number): number => keyOf[tree.frame[node]!] ?? -1;
  for (let node = 0; ; ) {
    if (next[node]! < tree.first[node + 1]!) {
      node = tree.callees[next[node]!++]!;
      const at = key(node);
      if (at >= 0 && open[at]!++ === 0) found[node] = 1;
      continue;
    }
    if (node === 0) return found;
    const at = key(node);
    if (at >= 0) open[at]!--;
    node = tree.caller[node]!;
  }
}

/** The nodes of a tree by the key of their frame: for each key the sum over the stacks that have it. */
export function sumsByKey(tree: Tree, total: Float64Array, keyOf: ArrayLike<number>, outer: Uint8Array, keys: number): Float64Array {
  const sum = new Float64Array(keys);
  for (let node = 1; node < outer.length; node++) {
    if (outer[node]) sum[keyOf[tree.frame[node]!]!]! += total[node]!;
  }
  return sum;
}

/** Nodes that are a match or inside of one. */
export function within(tree: Tree, matches: (frame: number) => boolean): Uint8Array {
  const inside = new Uint8Array(tree.caller.length);
  const known = new Map<number, boolean>();
  for (let n = 1; n < inside.length; n++) {
    if (inside[tree.caller[n]!]) {
      inside[n] = 1;
      continue;
    }
    const frame = tree.frame[n]!;
    let match = known.get(frame);
    if (match === undefined) known.set(frame, (match = matches(frame)));
    if (match) inside[n] = 1;
  }
  return inside;
}
