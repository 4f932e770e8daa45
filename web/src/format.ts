/** Numbers as people read them: the same as in `crates/present/report/src/units.rs`. */

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** `512 B`, `1.50 KiB`, `117 MiB`. */
export function bytes(n: number): string {
  if (n < 1024) return `${Math.round(n)} B`;
  let value = n / 1024;
  let unit = 0;
  // Rounding must not show 1024 of a unit.
  while (value >= 999.5 && unit + 1 < UNITS.length) {
    value /= 1024;
    unit += 1;
  }
  const digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return `${value.toFixed(digits)} ${UNITS[unit] ?? ""}`;
}

/** `10,697,388`. */
export function count(n: number): string {
  return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `870 ns`, `1.25 ms`, `12.3 s`, `4 min 10 s`. */
export function time(ns: number): string {
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${trimmed(ns / 1e3, 1)} µs`;
  if (ns < 1e9) return `${trimmed(ns / 1e6, 1)} ms`;
  if (ns < 120e9) return `${(ns / 1e9).toFixed(2)} s`;
  return `${Math.floor(ns / 60e9)} min ${Math.floor(ns / 1e9) % 60} s`;
}

function trimmed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  return text.endsWith(".0") ? text.slice(0, -2) : text;
}

/** `73 %`, `0.4 %`, `<0.1 %`. */
export function share(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const percent = (part * 100) / whole;
  if (percent === 0) return "0 %";
  if (percent < 0.1) return "<0.1 %";
  return percent < 9.95 ? `${percent.toFixed(1)} %` : `${percent.toFixed(0)} %`;
}

/** `1 block`, `2,000 blocks`. */
export function counted(n: number, one: string, many: string): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Round numbers of the binary units, so that the axis reads 8 MiB and not 7.63 MiB. */
export function byteSplits(min: number, max: number): number[] {
  let step = 1;
  while (max / step > 5) step *= 2;
  const splits: number[] = [];
  for (let v = Math.ceil(min / step) * step; v <= max; v += step) splits.push(v);
  return splits;
}
