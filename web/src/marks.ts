/** Marks and spans, ready to be drawn: spans in lanes by their names, and which names of marks have room. */

import type { Marks } from "./data.ts";

/** The spans of one name, each from where to where in nanoseconds. */
export interface Lane {
  name: number;
  bars: { from: number; to: number; open: boolean }[];
}

/** Lanes of the names whose spans take the most time; a span whose end was not seen lasts to the end of the run. */
export function lanes(marks: Marks, end: number, most: number): { shown: Lane[]; left: number } {
  const byName = new Map<number, Lane>();
  for (const [from, to, name] of marks.bars) {
    let lane = byName.get(name);
    if (!lane) byName.set(name, (lane = { name, bars: [] }));
    lane.bars.push({ from, to: Math.max(from, to ?? end), open: to === null });
  }
  const length = (lane: Lane): number => lane.bars.reduce((sum, bar) => sum + bar.to - bar.from, 0);
  const ranked = [...byName.values()].map((lane) => ({ lane, length: length(lane) })).sort((a, b) => b.length - a.length);
  const shown = ranked.slice(0, most).map(({ lane }) => lane);
  // In the order of time, so that phases make a staircase.
  shown.sort((a, b) => a.bars[0]!.from - b.bars[0]!.from);
  return { shown, left: byName.size - shown.length };
}

/** Pieces of a lane that are apart on the screen: those that touch within a pixel are one. */
export function pieces(lane: Lane, x: (ns: number) => number): { left: number; right: number; open: boolean }[] {
  const all = lane.bars.map((bar) => ({ left: x(bar.from), right: Math.max(x(bar.to), x(bar.from) + 1), open: bar.open }));
  all.sort((a, b) => a.left - b.left);
  const merged: { left: number; right: number; open: boolean }[] = [];
  for (const piece of all) {
    const last = merged[merged.length - 1];
    if (last && piece.left <= last.right + 1) {
      last.right = Math.max(last.right, piece.right);
      last.open ||= piece.open;
    } else merged.push({ ...piece });
  }
  return merged;
}

/** Which marks have room for their names: each at most in one of a few rows, and none over another. */
export function labels(
  xs: readonly number[],
  widths: readonly number[],
  right: number,
  rows: number,
): { mark: number; row: number; left: number }[] {
  const GAP = 8;
  const ends = new Array<number>(rows).fill(-Infinity);
  const found: { mark: number; row: number; left: number }[] = [];
  xs.forEach((x, mark) => {
    // At the right edge it stands on the other side of its line.
    const left = x + 4 + widths[mark]! > right ? x - 4 - widths[mark]! : x + 4;
    const row = ends.findIndex((end) => left >= end + GAP);
    if (row < 0 || left < 0) return;
    ends[row] = Math.max(left + widths[mark]!, x);
    found.push({ mark, row, left });
  });
  return found;
}

/** What the program marked in a step of the curves: spans that are open in it, the shortest first, and marks within it. */
export function marked(marks: Marks, from: number, to: number, end: number): { spans: number[]; points: number[] } {
  const open = marks.bars.filter(([begin, until]) => begin < to && (until ?? end) >= from);
  open.sort((a, b) => (a[1] ?? end) - a[0] - ((b[1] ?? end) - b[0]));
  const points = marks.points.filter(([time]) => time >= from && time < to).map(([, name]) => name);
  return { spans: [...new Set(open.map(([, , name]) => name))], points: [...new Set(points)] };
}
