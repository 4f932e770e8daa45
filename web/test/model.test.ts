import assert from "node:assert/strict";
import { test } from "node:test";
import type { Data, Moment } from "../src/data.ts";
import { bottomUp, topDown, type CallRow } from "../src/call_trees.ts";
import { groups, leadingSites, sorted } from "../src/groups.ts";
import { lineMeasures, lineSums } from "../src/line_sums.ts";
import { matrix } from "../src/matrix.ts";
import { Model } from "../src/model.ts";
import { ABSENT, coarser, decoded } from "../src/pages.ts";
import { dedented } from "../src/parts/source.ts";
import { steps } from "../src/parts/waterfall.ts";

/** Sites: main → parse (line 4) → clone, main → parse (line 5), main. */
function data(): Data {
  const zeros = [0, 0, 0];
  return {
    heapwise: "0.1.0", command: "app", ending: "exited with 0 after 1 s", duration_ns: 1e9, interception: "preload",
    allocators: [], n_processes: 1,
    sampling: null,
    totals: {
      allocations: 100, reallocations: 0, deallocations: 90, bytes: 5000, peak_bytes: 4000, peak_blocks: 9, exit_bytes: 0,
      never_freed_bytes: 0,
      exit_blocks: 0, temporary: 60, failed: 0, lost: 0,
    },
    carried: null, peak_rss: 0, rss_note: "", peak_live_at_ns: 0, captures: 100, cut_captures: 0, caveats: [], verdict: null, moments: [], by_allocator: [],
    pages: null, curves: { step_ns: 0, live: [], rss: [] }, marks: null, sizes: [], findings: [], worth: [], nothing: "", standouts: [], only_recorded: null,
    strings: ["", "everything", "main", "parse", "clone", "src/main.rs", "/x/src/main.rs", "/rust/string.rs", "libc.so"],
    frames: {
      name: [1, 2, 3, 3, 4], function: [0, 2, 3, 3, 4], file: [0, 6, 6, 6, 7], path: [0, 5, 5, 5, 7],
      line: [0, 1, 4, 5, 9], module: [0, 8, 8, 8, 8], owner: [1, 5, 5, 5, 2], inlined: [0, 0, 0, 0, 1],
    },
    nodes: { up: [0, 1, 1, 1, 3], frame: [0, 1, 2, 4, 3] },
    sites: {
      node: [3, 4, 1], user: [2, 4, -1], allocations: [70, 20, 10], bytes: [1000, 3000, 1000], reallocations: zeros,
      temporary: [60, 0, 0], peak_bytes: [0, 3000, 1000], peak_blocks: zeros, exit_bytes: zeros, exit_blocks: zeros,
      other_thread: zeros, failed: zeros, p50: [0, -1, -1], p99: [0, -1, -1], estimate: [700, 200, 100],
      time: [], pinned: [], samples: [],
    },
    sources: [{ frame: 2, first: 3, lines: ["a", "b"], changed: false }], lines: { files: [], left_out: 0 }, source_files: ["/x/a.rs"], threads: [], thread_matrix: null,
  };
}

test("of a sample, nothing is said of what it does not show", () => {
  const sampled = data();
  sampled.sampling = { every: 65536, allocations: "± 9 %", bytes: "", peak_bytes: "", exit_bytes: "" };
  sampled.sites.samples = [15, 20, 10];
  const model = new Model(sampled);
  assert.deepEqual(model.measures.map((m) => m.id), ["allocations", "bytes", "peak_bytes", "exit_bytes", "samples"]);
  assert.deepEqual(lineMeasures(model), ["allocations", "bytes", "peak_bytes", "estimate"]);
});

test("a frame is shown with its line, and a site with its stack", () => {
  const model = new Model(data());
  assert.deepEqual(model.stack(0).map((f) => model.frame(f).name), ["clone", "parse", "main"]);
  assert.equal(model.frame(model.userFrame(0)).place, "src/main.rs:4");
  assert.equal(model.frame(model.userFrame(2)).name, "main", "without a user's frame the innermost one stands for it");
  assert.deepEqual([0, 1, 2].map((site) => model.via(site)), ["clone", "", ""]);
  assert.equal(model.frame(4).owner, "library");
  assert.equal(model.excerpt(2)?.first, 3);
  assert.deepEqual(model.measures.map((m) => m.id), ["allocations", "bytes", "peak_bytes", "exit_bytes", "temporary"]);
});

test("sites are put together by line, by function or not at all", () => {
  const model = new Model(data());
  const of = (by: "line" | "function" | "stack", filter = ""): [string, number][] =>
    groups(model, by, filter).map((g) => [model.frame(g.frame).place, g.sums.allocations]);
  assert.deepEqual(of("line"), [["src/main.rs:4", 70], ["src/main.rs:5", 20], ["src/main.rs:1", 10]]);
  assert.deepEqual(of("function"), [["src/main.rs:4", 90], ["src/main.rs:1", 10]]);
  assert.equal(of("stack").length, 3);
  assert.deepEqual(of("line", "CLONE"), [["src/main.rs:4", 70]], "any frame of the stack may match");
  assert.deepEqual(of("line", "nothing has this"), []);
});

test("a line has its own sums and those with what it calls", () => {
  const of = lineSums(new Model(data()));
  const main = of.get(6)!.map((line) => [line.line, line.own.allocations, line.whole.allocations, line.whole.estimate]);
  assert.deepEqual(main, [[1, 0, 100, 1000], [4, 70, 70, 700], [5, 20, 20, 200]]);
  assert.deepEqual(of.get(7)!.map((line) => [line.line, line.own.bytes, line.whole.bytes]), [[9, 0, 1000]]);
});

test("groups and their sites are sorted", () => {
  const model = new Model(data());
  const list = groups(model, "line");
  assert.deepEqual(sorted(list, "bytes").map((g) => g.sums.bytes), [3000, 1000, 1000]);
  assert.deepEqual(sorted(list, "allocations", true).map((g) => g.sums.allocations), [10, 20, 70]);
  assert.deepEqual(leadingSites(model, groups(model, "function")[0]!, "bytes", 1), [1]);
});

test("trees of calls open from the outside and from the inside", () => {
  const { tree, sites } = new Model(data());
  // main and clone, and parse on two lines; a name each, as if lines were not distinguished.
  const keyOf = [0, 1, 2, 2, 3];
  const of = (rows: CallRow[]): unknown[] => rows.map((row) => [row.frame, row.own, row.total, row.opens]);
  const down = topDown(tree, sites.node, sites.allocations);
  assert.deepEqual(of(down), [[1, 10, 100, true]]);
  assert.deepEqual(of(down[0]!.below()), [[2, 0, 70, true], [3, 20, 20, false]]);
  assert.deepEqual(of(down[0]!.below()[0]!.below()), [[4, 70, 70, false]]);
  const up = bottomUp(tree, sites.node, sites.allocations, keyOf, 4);
  assert.deepEqual(of(up), [[4, 70, 70, true], [3, 20, 90, true], [1, 10, 100, false]]);
  assert.deepEqual(of(up[0]!.below()), [[2, 70, undefined, true]]);
  assert.deepEqual(of(up[0]!.below()[0]!.below()), [[1, 70, undefined, false]]);
  assert.deepEqual(of(bottomUp(tree, [2, 2, 1], sites.allocations, keyOf, 4)), [[2, 90, 90, true], [1, 10, 100, false]]);
});

test("each bar of the waterfall begins where the one before ends", () => {
  const moment: Moment = {
    label: "At the peak", time_ns: 0, pid: 1, rss_bytes: 100, before_bytes: 0, unrecorded_bytes: 5, not_heap_bytes: 10, live_bytes: 35,
    internal_fragmentation_bytes: 5, external_fragmentation_bytes: 25, free_pages_bytes: 15, metadata_bytes: 3, unaccounted_bytes: 2, huge_pages_bytes: 0,
    live_not_resident_bytes: 0,
  };
  const bars = steps(moment);
  assert.deepEqual(bars.map((b) => Math.round(b.from * 100)), [0, 10, 10, 15, 50, 55, 80, 95, 98]);
  assert.equal(Math.round(bars.reduce((n, b) => n + b.share, 0) * 100), 100);
});

test("pages are read and put together", () => {
  const cells = Buffer.from([0, 254, 255, 60]).toString("base64");
  const [region] = decoded({
    time_ns: 0, cell: 4096, resident_bytes: 0, empty_bytes: 0, sparse_bytes: 0, used: 0, regions: [{ address: "7f31d4000000", cells }],
  });
  assert.equal(region!.address, 0x7f31d4000000n);
  assert.deepEqual([...region!.cells], [0, 254, 255, 60]);
  assert.deepEqual([...coarser(region!.cells, 2)], [127, 60], "absent pages do not make others emptier");
  assert.deepEqual([...coarser(Uint8Array.of(255, 255, 255), 2)], [ABSENT, ABSENT]);
});

test("threads that take part in most have rows, and the others share one", () => {
  const thread = (index: number) => ({
    index, name: 0, tid: index, pid: 1, allocations: 0, bytes: 0, peak_bytes: 0, exit_bytes: 0, freed_elsewhere: 0,
  });
  const pairs: [number, number, number][] = [[0, 1, 50], [1, 1, 9], [2, 3, 5], [3, 0, 1]];
  const square = matrix([0, 1, 2, 3, 4].map(thread), pairs, 2, (t) => `t${t.index}`);
  assert.deepEqual(square.names, ["t0", "t1", "others"]);
  assert.deepEqual(square.cells, [[0, 50, 0], [0, 9, 0], [1, 0, 5]]);
  assert.equal(square.largest, 50);
});

test("source lines lose the indentation that all have", () => {
  assert.deepEqual(dedented(["    if x {", "", "        y", "    }"]), ["if x {", "", "    y", "}"]);
  assert.deepEqual(dedented(["", " "]), ["", " "]);
});
