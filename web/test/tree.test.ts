import assert from "node:assert/strict";
import { test } from "node:test";
import { boxAt, fitted, layout } from "../src/flame_layout.ts";
import { calleesBySize, mergedLines, outermost, outwards, sums, sumsByKey, treeOf, within } from "../src/tree.ts";

//      0
//    1   4
//   2 3   5
const tree = treeOf([0, 1, 1, 2, 4, 1], [0, 1, 2, 3, 1, 2]);
const nodes = [2, 3, 5, 1];
const total = sums(tree, nodes, [10, 20, 30, 5]);

test("a node has the sum of what is at it and below it", () => {
  assert.deepEqual([...total], [65, 35, 10, 20, 30, 30]);
  assert.deepEqual(calleesBySize(tree, total, 0), [1, 4]);
  assert.deepEqual(calleesBySize(tree, total, 1), [3, 2]);
  assert.deepEqual(outwards(tree, 5), [5, 4, 0]);
});

test("lines of one function are merged with what is below them", () => {
  // Frames 1 and 4 are one function; in the tree above, nodes 1 and 4 have frame 1 each.
  const two = treeOf([0, 1, 1, 3, 1], [0, 1, 2, 4, 2]);
  const merged = mergedLines(two, [0, 7, 8, 9, 7]);
  assert.equal(merged.tree.caller.length, 3);
  assert.deepEqual([...merged.to], [0, 1, 2, 1, 2]);
  const sum = sums(merged.tree, [2, 4].map((n) => merged.to[n]!), [3, 4]);
  assert.deepEqual([...sum], [7, 7, 7]);
});

test("what is inside of a match is found, and counts once", () => {
  assert.deepEqual([...within(tree, (frame) => frame === 1)], [0, 1, 1, 1, 1, 1]);
  assert.deepEqual([...within(tree, (frame) => frame === 2)], [0, 0, 1, 0, 0, 1]);
});

test("a recursion counts once for its frame", () => {
  // Frame 1 calls itself: 0 → 1 → 2 → 1, and 0 → 1 beside it.
  const keyOf = [-1, 0, 1, -1];
  const again = treeOf([0, 1, 1, 1, 4], [0, 1, 2, 1, 3]);
  const outer = outermost(again, keyOf, 2);
  assert.deepEqual([...outer], [0, 1, 1, 0, 0]);
  const all = sums(again, [1, 2, 3, 4], [1, 10, 100, 1000]);
  assert.deepEqual([...sumsByKey(again, all, keyOf, outer, 2)], [111, 110]);
  assert.deepEqual([...outermost(tree, [-1, 0, 1, 2], 3)], [0, 1, 1, 1, 1, 1]);
});

test("boxes share the width of their caller", () => {
  const rows = layout(tree, total, 0, 650);
  assert.deepEqual(rows[1], [{ node: 1, x: 0, width: 350 }, { node: 4, x: 350, width: 300 }]);
  assert.equal(boxAt(rows, 2, 10)?.node, 3);
  assert.equal(boxAt(rows, 2, 250)?.node, 2);
  assert.equal(boxAt(rows, 2, 320), undefined, "node 1's own share has nothing below it");
  assert.equal(boxAt(rows, 2, 360)?.node, 5);
  assert.equal(boxAt(rows, 9, 0), undefined);
  const zoomed = layout(tree, total, 4, 650);
  assert.deepEqual(zoomed.map((row) => row.map((box) => [box.node, box.width])), [[[0, 650]], [[4, 650]], [[5, 650]]]);
});

test("boxes that are too narrow to be seen are left out", () => {
  const small = sums(tree, nodes, [1, 1e9, 1, 1]);
  assert.deepEqual(layout(tree, small, 0, 500).map((row) => row.length), [1, 1, 1]);
  assert.deepEqual(layout(tree, new Float64Array(6), 0, 500), [[{ node: 0, x: 0, width: 500 }]]);
});

test("recursion does not overflow anything", () => {
  const depth = 200_000;
  const up = Array.from({ length: depth }, (_, i) => (i === 0 ? 0 : 1));
  const deep = treeOf(up, up);
  const all = sums(deep, [depth - 1], [3]);
  assert.equal(all[0], 3);
  assert.equal(layout(deep, all, 0, 800).length, depth);
  assert.equal(outwards(deep, depth - 1).length, depth);
  assert.equal(mergedLines(deep, up).tree.caller.length, depth);
  assert.equal(outermost(deep, [-1, 0], 1).indexOf(1), 1);
});

test("a name gives way from its front", () => {
  assert.equal(fitted("app::cache::lookup", 30), "app::cache::lookup");
  assert.equal(fitted("app::cache::lookup", 13), "cache::lookup");
  assert.equal(fitted("app::cache::lookup", 6), "lookup");
  assert.equal(fitted("app::cache::lookup", 5), "look…");
  assert.equal(fitted("app::run::{closure}", 8), "run::{c…", "a closure stays with what it is in");
  assert.equal(fitted("abcdef", 2), "");
});
