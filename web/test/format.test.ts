import assert from "node:assert/strict";
import { test } from "node:test";
import { byteSplits, bytes, count, counted, share, time } from "../src/format.ts";

test("numbers are those of the text report", () => {
  const amounts = [0, 1023, 1024, 1536, 1023 * 1024, 10 * 2 ** 20, 122_683_392, 2 ** 64].map(bytes);
  assert.deepEqual(amounts, ["0 B", "1023 B", "1.00 KiB", "1.50 KiB", "1.00 MiB", "10.0 MiB", "117 MiB", "16.0 EiB"]);
  assert.deepEqual([0, 999, 1000, 10_697_388].map(count), ["0", "999", "1,000", "10,697,388"]);
  assert.deepEqual([5, 1_500_000, 2e9, 250e9].map(time), ["5 ns", "1.5 ms", "2.00 s", "4 min 10 s"]);
  assert.deepEqual([share(0, 5), share(1, 100_000), share(1, 3), share(0, 0)], ["0 %", "<0.1 %", "33 %", "–"]);
  assert.deepEqual([counted(1, "block", "blocks"), counted(2000, "block", "blocks")], ["1 block", "2,000 blocks"]);
});

test("an axis of bytes has round numbers", () => {
  assert.deepEqual(byteSplits(0, 20 * 2 ** 20), [0, 4, 8, 12, 16, 20].map((n) => n * 2 ** 20));
  assert.ok(byteSplits(0, 7).length <= 8);
});
