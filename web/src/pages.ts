/** The map of pages, as numbers. */

import type { Pages } from "./data.ts";

/** Stands for a cell that is not resident. */
export const ABSENT = 255;
/** Stands for a cell that is in use altogether. */
export const FULL = 254;

export interface Region {
  address: bigint;
  cells: Uint8Array;
}

export function decoded(pages: Pages): Region[] {
  return pages.regions.map((region) => {
    const text = atob(region.cells);
    const cells = new Uint8Array(text.length);
    for (let i = 0; i < cells.length; i++) cells[i] = text.charCodeAt(i);
    return { address: BigInt(`0x${region.address}`), cells };
  });
}

/**
 * Cells put together by `n`, so that a large heap fits the screen: the mean of those that are resident, absent if none
 * is.
 */
export function coarser(cells: Uint8Array, n: number): Uint8Array {
  if (n <= 1) return cells;
  const out = new Uint8Array(Math.ceil(cells.length / n));
  for (let i = 0; i < out.length; i++) {
    let [sum, resident] = [0, 0];
    for (let j = i * n; j < Math.min(cells.length, (i + 1) * n); j++) {
      if (cells[j] === ABSENT) continue;
      sum += cells[j]!;
      resident++;
    }
    out[i] = resident === 0 ? ABSENT : Math.round(sum / resident);
  }
  return out;
}
