import assert from "node:assert/strict";
import { test } from "node:test";
import type { Marks } from "../src/data.ts";
import { labels, lanes, marked, pieces } from "../src/marks.ts";

const marks: Marks = {
  points: [[5, 7, 0, 100], [50, 8, 1, 200]],
  bars: [[0, 100, 1, 0], [10, 20, 2, 0], [12, 15, 2, 1], [30, null, 3, 0], [31, 31, 4, 0]],
  not_listed: 0,
  spans: [],
};

test("the longest names have lanes, in the order of time", () => {
  const { shown, left } = lanes(marks, 90, 3);
  assert.deepEqual(shown.map((lane) => lane.name), [1, 2, 3]);
  assert.equal(left, 1);
  assert.deepEqual(shown[2]!.bars, [{ from: 30, to: 90, open: true }], "an end that was not seen is that of the run");
  assert.deepEqual(lanes({ ...marks, bars: [] }, 90, 3), { shown: [], left: 0 });
});

test("bars that touch on the screen are one, and none is too thin to be seen", () => {
  const bars = [[0, 0.1], [0.5, 0.6], [5, 5], [7.5, 9]].map(([from, to]) => ({ from: from!, to: to!, open: false }));
  const found = pieces({ name: 1, bars }, (ns) => ns);
  assert.deepEqual(found.map((piece) => [piece.left, piece.right]), [[0, 1.5], [5, 6], [7.5, 9]]);
  const many = Array.from({ length: 5000 }, (_, i) => ({ from: i, to: i + 1, open: false }));
  assert.equal(pieces({ name: 1, bars: many }, (ns) => ns / 10).length, 1);
});

test("names stand beside each other or not at all", () => {
  const xs = [10, 12, 14, 16, 200, 290];
  const found = labels(xs, xs.map(() => 50), 300, 3);
  assert.deepEqual(found.map((label) => [label.mark, label.row]), [[0, 0], [1, 1], [2, 2], [4, 0], [5, 1]]);
  assert.equal(found[4]!.left, 290 - 4 - 50, "it does not leave the picture");
  for (const a of found) {
    for (const b of found) {
      assert.ok(a === b || a.row !== b.row || a.left + 50 <= b.left || b.left + 50 <= a.left);
    }
  }
});

test("a step says what it is in, the innermost first", () => {
  assert.deepEqual(marked(marks, 12, 13, 90), { spans: [2, 1], points: [] });
  assert.deepEqual(marked(marks, 50, 51, 90), { spans: [3, 1], points: [8] });
  assert.deepEqual(marked(marks, 95, 99, 99), { spans: [3, 1], points: [] });
});
