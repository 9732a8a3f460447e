// Numbers with units, spelled as trace/base/format.h spells them.

function threeDigits(value: number): string {
  return value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0);
}

export function duration(ns: number): string {
  const size = Math.abs(ns);
  const sign = ns < 0 ? "-" : "";
  if (size < 1000) return `${sign}${Math.round(size)} ns`;
  if (size < 999.5e3) return `${sign}${threeDigits(size / 1e3)} µs`;
  if (size < 999.5e6) return `${sign}${threeDigits(size / 1e6)} ms`;
  return `${sign}${threeDigits(size / 1e9)} s`;
}

export function bytes(count: number): string {
  if (count < 1024) return `${Math.round(count)} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = count / 1024;
  let unit = 0;
  while (value >= 999.5 && unit + 1 < units.length) {
    value /= 1024;
    ++unit;
  }
  return `${threeDigits(value)} ${units[unit]}`;
}

export function share(fraction: number): string {
  return `${(fraction * 100).toFixed(1)} %`;
}

// One unit for a whole axis, so that its ticks compare.
export interface AxisUnit {
  name: string;
  size: number;
}

export function timeUnit(largestNs: number): AxisUnit {
  if (largestNs >= 2e9) return { name: "s", size: 1e9 };
  if (largestNs >= 2e6) return { name: "ms", size: 1e6 };
  if (largestNs >= 2e3) return { name: "µs", size: 1e3 };
  return { name: "ns", size: 1 };
}

export function byteUnit(largest: number): AxisUnit {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = 1;
  let i = 0;
  while (largest / size >= 2048 && i + 1 < units.length) {
    size *= 1024;
    ++i;
  }
  return { name: units[i], size };
}

// A round distance of ticks, by which `range` > 0 has no more than four steps.
export function niceStep(range: number): number {
  const rough = range / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? rough;
}

// The end of an axis that holds `largest`, with few equal steps below it.
export function niceEnd(largest: number): number {
  if (!(largest > 0)) return 1;
  const step = niceStep(largest);
  return step * Math.ceil(largest / step);
}

export function tick(value: number, unit: AxisUnit): string {
  return String(Number((value / unit.size).toPrecision(6)));
}
