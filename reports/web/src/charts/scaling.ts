// The scaling report: speed-up and efficiency with error bars, factors, lost time, the step's parts, models of more devices.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams, CustomSeriesRenderItemReturn } from "echarts";
import type { Bounded, Scaling, ScalingFit, ScalingLoss, ScalingPoint } from "../data";
import { element, select, tip, type TipLine } from "../dom";
import { duration, niceEnd, niceStep, share, tick, timeUnit } from "../format";
import { axisStyle, color, hatchOf, textStyle, tooltipStyle } from "../theme";
import { tr } from "../words";
import { mount } from "./chart";

const kWhisker = 5; // half the width of an error bar's end, px

function devices(count: number): string {
  return count === 1 ? tr("1 device") : tr("{0} devices", Math.round(count));
}

function rate(value: number): string {
  return value >= 99.95 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}

function signed(ns: number): string {
  return ns < 0 ? duration(ns) : `+${duration(ns)}`;
}

// Numbers of devices at equal distance for every doubling: drawn as logarithms, labelled as numbers.
function devicesAxis(values: number[]) {
  const low = Math.floor(Math.log2(Math.min(...values)));
  const high = Math.max(Math.ceil(Math.log2(Math.max(...values))), low + 1);
  return {
    type: "value",
    min: low - 0.25,
    max: high + 0.25,
    // Not `interval`: that would count from min.
    minInterval: 1,
    maxInterval: 1,
    name: tr("devices (log scale)"),
    nameLocation: "middle",
    nameGap: 26,
    ...axisStyle(),
    ...atEdge(),
    axisTick: { show: false },
    splitLine: { show: false },
    axisLabel: {
      ...textStyle(),
      hideOverlap: true,
      showMinLabel: false,
      showMaxLabel: false,
      formatter: (value: number) => (Number.isInteger(value) ? String(2 ** value) : ""),
    },
  };
}

// Logarithms are 0 somewhere within: no axis is to be drawn there.
const atEdge = () => ({ axisLine: { onZero: false, lineStyle: { color: color("line") } } });

function yName(name: string) {
  return { name, nameTextStyle: { ...textStyle(), align: "left", padding: [0, 0, 0, -44] } };
}

// A bar from low to high with ends; data: [x, value, low, high].
function errorBars(name: string, data: (number | null)[][], paint: string) {
  return {
    name,
    type: "custom",
    silent: true,
    z: 4,
    data: data.filter((row) => row[2] !== null && row[3] !== null),
    encode: { x: 0, y: [2, 3] },
    renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI): CustomSeriesRenderItemReturn => {
      const [x, low] = api.coord([api.value(0), api.value(2)]);
      const high = api.coord([api.value(0), api.value(3)])[1];
      const line = (x1: number, y1: number, x2: number, y2: number) => ({
        type: "line" as const,
        shape: { x1, y1, x2, y2 },
        style: { stroke: paint, lineWidth: 1.5 },
      });
      return {
        type: "group",
        children: [
          line(x, low, x, high),
          line(x - kWhisker, low, x + kWhisker, low),
          line(x - kWhisker, high, x + kWhisker, high),
        ],
      };
    },
  };
}

function interval(value: Bounded, text: (one: number) => string): string {
  return value[1] === null || value[2] === null ? tr("no interval") : `${text(value[1])} … ${text(value[2])}`;
}

function pointTip(scaling: Scaling, index: number): HTMLElement {
  const point = scaling.points[index];
  const first = scaling.points[0].devices;
  return tip(point.runs > 1 ? tr("{0}, {1} runs", devices(point.devices), point.runs) : devices(point.devices), [
    { label: tr("step"), value: duration(point.step[0]) },
    { label: tr("95 % interval"), value: interval(point.step, duration) },
    { label: scaling.unit, value: rate(point.throughput[0]) },
    { label: tr("speed-up over {0}", first), value: tr("{0} (ideal {1})", point.speedup[0].toPrecision(3), (point.devices / first).toPrecision(3)) },
    { label: tr("efficiency"), value: share(point.efficiency[0]) },
    { label: tr("95 % interval"), value: interval(point.efficiency, share) },
  ]);
}

const legend = () => ({ top: 0, left: 0, itemHeight: 10, textStyle: textStyle(), inactiveColor: color("line") });

// Measured points with a line through them, in logarithms where `place` takes them.
function measured(name: string, points: ScalingPoint[], of: (point: ScalingPoint) => number, place: (value: number) => number) {
  const paint = color("compute");
  return {
    name,
    type: "line",
    symbol: "circle",
    symbolSize: 8,
    z: 3,
    lineStyle: { color: paint, width: 2 },
    itemStyle: { color: paint },
    data: points.map((point) => [Math.log2(point.devices), place(of(point))]),
  };
}

function whiskers(points: ScalingPoint[], of: (point: ScalingPoint) => Bounded, place: (value: number) => number) {
  const rows = points.map((point) => [Math.log2(point.devices), ...of(point).map((value) => (value === null ? null : place(value)))]);
  return errorBars(tr("95 % interval"), rows, color("text"));
}

// Options that all charts of measured points with an ideal line share.
const againstIdeal = (scaling: Scaling) => ({
  textStyle: textStyle(),
  legend: { ...legend(), data: [tr("measured"), tr("ideal")] },
  grid: { left: 52, right: 20, top: 52, bottom: 44 },
  tooltip: {
    ...tooltipStyle(),
    trigger: "item",
    formatter: (item: { seriesName: string; dataIndex: number }) => (item.seriesName === tr("measured") ? pointTip(scaling, item.dataIndex) : ""),
  },
  xAxis: devicesAxis(scaling.points.map((point) => point.devices)),
});

const ideal = (line: number[][]) => ({
  name: tr("ideal"),
  type: "line",
  symbol: "none",
  lineStyle: { color: color("muted"), width: 1.5, type: "dashed" },
  itemStyle: { color: color("muted") },
  data: line,
});

export function drawSpeedup(plot: HTMLElement, scaling: Scaling): void {
  const { points } = scaling;
  const first = points[0].devices;
  const last = points[points.length - 1].devices;
  mount(plot, 320, () => ({
    ...againstIdeal(scaling),
    yAxis: {
      type: "value",
      interval: 1,
      min: Math.min(0, Math.floor(Math.log2(Math.min(...points.map((point) => point.speedup[1] ?? point.speedup[0]))))),
      ...axisStyle(),
      ...atEdge(),
      ...yName(tr("speed-up over {0} (log scale)", devices(first))),
      axisLabel: { ...textStyle(), formatter: (value: number) => (Number.isInteger(value) ? String(2 ** value) : "") },
    },
    series: [
      ideal([
        [Math.log2(first), 0],
        [Math.log2(last), Math.log2(last / first)],
      ]),
      measured(tr("measured"), points, (point) => point.speedup[0], Math.log2),
      whiskers(points, (point) => point.speedup, Math.log2),
    ],
  }));
}

// The end of an axis of shares: 100 %, or what holds more in even steps.
function efficiencyEnd(values: number[]): number {
  const largest = Math.max(...values);
  return largest <= 1.01 ? 1 : niceEnd(largest);
}

function efficiencyAxis(end: number) {
  return {
    type: "value",
    min: 0,
    max: end,
    interval: end === 1 ? 0.2 : niceStep(end),
    ...axisStyle(),
    ...atEdge(),
    ...yName(tr("efficiency")),
    axisLabel: { ...textStyle(), formatter: (value: number) => `${Math.round(value * 100)} %` },
  };
}

export function drawEfficiency(plot: HTMLElement, scaling: Scaling): void {
  const { points } = scaling;
  const highest = Math.max(...points.map((point) => point.efficiency[2] ?? point.efficiency[0]));
  mount(plot, 320, () => ({
    ...againstIdeal(scaling),
    yAxis: efficiencyAxis(efficiencyEnd([highest])),
    series: [
      ideal([points[0], points[points.length - 1]].map((point) => [Math.log2(point.devices), 1])),
      measured(tr("measured"), points, (point) => point.efficiency[0], (value) => value),
      whiskers(points, (point) => point.efficiency, (value) => value),
    ],
  }));
}

const kFactorBars: { name: string; paint: string; hatched: boolean; of: (point: ScalingPoint) => number }[] = [
  { name: "compute (parallel efficiency)", paint: "compute", hatched: false, of: ({ factors }) => factors.parallel },
  {
    name: "lost to orchestration",
    paint: "input",
    hatched: true,
    of: ({ factors }) => factors.load_balance * factors.comm_eff * (1 - factors.orchestration),
  },
  {
    name: "lost to communication",
    paint: "exposed_comm",
    hatched: false,
    of: ({ factors }) => factors.load_balance * (1 - factors.comm_eff),
  },
  { name: "lost to imbalance", paint: "allocation", hatched: false, of: ({ factors }) => 1 - factors.load_balance },
];

export function drawFactors(plot: HTMLElement, scaling: Scaling): void {
  const { points } = scaling;
  const efficiency = tr("efficiency against the fewest devices");
  mount(plot, 340, (width) => ({
    textStyle: textStyle(),
    legend: { ...legend(), ...(width < 520 ? { orient: "vertical", itemGap: 3 } : {}) },
    grid: { left: 52, right: 20, top: width < 520 ? 122 : width < 980 ? 74 : 52, bottom: 44 },
    tooltip: {
      ...tooltipStyle(),
      trigger: "axis",
      axisPointer: { type: "shadow" },
      formatter: (items: { dataIndex: number }[]) => {
        const point = points[items[0].dataIndex];
        const { factors } = point;
        const lines: TipLine[] = kFactorBars.map((bar) => ({ color: color(bar.paint), label: tr(bar.name), value: share(bar.of(point)) }));
        lines.push({ label: tr("load balance"), value: share(factors.load_balance) });
        lines.push({ label: tr("communication efficiency"), value: share(factors.comm_eff) });
        lines.push({ label: tr("orchestration"), value: share(factors.orchestration) });
        lines.push({ label: tr("computation scaling"), value: share(factors.computation) });
        lines.push({ color: color("text"), label: tr("efficiency"), value: share(point.efficiency[0]) });
        return tip(devices(point.devices), lines);
      },
    },
    xAxis: {
      type: "category",
      name: tr("devices"),
      nameLocation: "middle",
      nameGap: 26,
      data: points.map((point) => String(point.devices)),
      ...axisStyle(),
      splitLine: { show: false },
    },
    yAxis: {
      ...efficiencyAxis(efficiencyEnd(points.map((point) => point.efficiency[0]))),
      ...yName(tr("of the devices' time")),
    },
    series: [
      ...kFactorBars.map((bar) => ({
        name: tr(bar.name),
        type: "bar",
        stack: "time",
        barMaxWidth: 90,
        barCategoryGap: "35%",
        itemStyle: { color: color(bar.paint), decal: bar.hatched ? hatchOf(bar.paint) : undefined },
        data: points.map((point) => Math.max(bar.of(point), 0)),
      })),
      {
        name: efficiency,
        type: "line",
        symbol: "diamond",
        symbolSize: 10,
        z: 5,
        lineStyle: { color: color("text"), width: 1.5 },
        itemStyle: { color: color("text") },
        data: points.map((point) => point.efficiency[0]),
      },
    ],
  }));
}

// Bars that hang on to each other: each begins where the one before ends; the last is their sum.
function lossOption(loss: ScalingLoss, width: number) {
  const rows: { label: string; colour: string; begin: number; end: number; isSum: boolean }[] = [];
  let at = 0;
  for (const part of loss.parts) {
    rows.push({ label: part.label, colour: part.colour, begin: at, end: at + part.ns, isSum: false });
    at += part.ns;
  }
  rows.push({ label: tr("lost in all"), colour: "muted", begin: 0, end: at, isSum: true });
  const low = Math.min(0, ...rows.map((row) => row.end));
  const high = Math.max(0, ...rows.map((row) => row.end));
  const reach = Math.max(high - low, 1);
  const unit = timeUnit(reach);
  const step = niceStep(reach);
  const value = (row: (typeof rows)[number]) =>
    tr("{0} ({1} of the step)", signed(row.end - row.begin), share((row.end - row.begin) / Math.max(loss.step, 1)));
  return {
    textStyle: textStyle(),
    grid: { left: Math.min(170, width * 0.42), right: 84, top: 6, bottom: 46 },
    tooltip: {
      ...tooltipStyle(),
      trigger: "item",
      formatter: (item: { dataIndex: number }) => {
        const row = rows[item.dataIndex];
        return tip(row.label, [
          { color: color(row.colour), label: tr("a step"), value: value(row) },
          ...(row.isSum ? [{ label: tr("step"), value: duration(loss.step) }, { label: tr("ideal"), value: duration(loss.ideal) }] : []),
        ]);
      },
    },
    xAxis: {
      type: "value",
      min: step * Math.floor(low / step),
      max: step * Math.ceil(high / step),
      interval: step,
      name: tr("lost time a step, {0}", unit.name),
      nameLocation: "middle",
      nameGap: 28,
      ...axisStyle(),
      axisLabel: { ...textStyle(), hideOverlap: true, formatter: (ns: number) => tick(ns, unit) },
    },
    yAxis: {
      type: "category",
      inverse: true,
      data: rows.map((row) => row.label),
      ...axisStyle(),
      axisTick: { show: false },
      splitLine: { show: false },
      axisLabel: { ...textStyle(), width: Math.min(160, width * 0.4), overflow: "break", lineHeight: 13 },
    },
    series: [
      {
        type: "custom",
        data: rows.map((row, i) => [i, row.begin, row.end]),
        encode: { x: [1, 2], y: 0 },
        renderItem: (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI): CustomSeriesRenderItemReturn => {
          const row = rows[params.dataIndex];
          const [begin, y] = api.coord([row.begin, params.dataIndex]);
          const [end] = api.coord([row.end, params.dataIndex]);
          const size = api.size?.([0, 1]);
          const height = Math.min(22, (Array.isArray(size) ? size[1] : 26) * 0.68);
          const left = Math.min(begin, end);
          const right = Math.max(begin, end);
          return {
            type: "group",
            children: [
              {
                type: "rect",
                shape: { x: left, y: y - height / 2, width: Math.max(right - left, 1), height },
                style: { fill: color(row.colour) },
              },
              {
                type: "text",
                style: {
                  x: right + 6,
                  y,
                  text: signed(row.end - row.begin),
                  fill: color("text"),
                  font: `${row.isSum ? "600 " : ""}12px system-ui, sans-serif`,
                  verticalAlign: "middle",
                },
              },
            ],
          };
        },
      },
    ],
  };
}

export function drawLoss(plot: HTMLElement, scaling: Scaling): void {
  const { losses, points } = scaling;
  const name = (loss: ScalingLoss) => `${loss.from} → ${devices(loss.to)}`;
  let chosen = points.length - 2; // from the fewest to the most
  const height = () => 60 + 30 * (losses[chosen].parts.length + 1);
  const { chart, redraw } = mount(plot, height(), (width) => lossOption(losses[chosen], width));
  if (losses.length < 2) return;
  const choice = select(
    tr("From → to "),
    losses.map((loss, i): [string, string] => [String(i), name(loss)]),
    (value) => {
      chosen = Number(value);
      plot.style.height = `${height()}px`;
      chart.resize();
      redraw();
    },
  );
  choice.querySelector("select")!.value = String(chosen);
  plot.before(choice);
}

export function drawStepParts(plot: HTMLElement, scaling: Scaling): void {
  const { points, parts } = scaling;
  const top = Math.max(...points.map((point) => Math.max(point.step[0], point.ideal)));
  const shown = parts.map((part, i) => ({ ...part, i })).filter((part) => points.some((point) => point.parts[part.i] > top / 1000));
  const key = element("ul", { className: "key" });
  for (const part of shown) {
    const mark = element("i", { className: "p" });
    mark.className = part.idle ? `p p-${part.key}` : "p";
    if (!part.idle) mark.style.background = `var(--${part.key})`;
    key.append(element("li", {}, mark, part.label));
  }
  plot.before(key);
  const unit = timeUnit(top);
  mount(plot, 300, (width) => ({
    textStyle: textStyle(),
    grid: { left: 56, right: 20, top: 30, bottom: 44 },
    tooltip: {
      ...tooltipStyle(),
      trigger: "axis",
      axisPointer: { type: "shadow" },
      formatter: (items: { dataIndex: number }[]) => {
        const point = points[items[0].dataIndex];
        return tip(`${devices(point.devices)}: ${duration(point.step[0])}`, [
          ...shown
            .filter((part) => point.parts[part.i] > 0)
            .map((part) => ({
              color: color(part.key),
              label: part.label,
              value: `${duration(point.parts[part.i])} · ${share(point.parts[part.i] / Math.max(point.step[0], 1))}`,
            })),
          { color: color("text"), label: tr("ideal step"), value: duration(point.ideal) },
        ]);
      },
    },
    xAxis: {
      type: "category",
      name: tr("devices"),
      nameLocation: "middle",
      nameGap: 26,
      data: points.map((point) => String(point.devices)),
      ...axisStyle(),
      splitLine: { show: false },
    },
    yAxis: {
      type: "value",
      max: niceEnd(top),
      ...axisStyle(),
      ...yName(tr("step, {0}", unit.name)),
      axisLabel: { ...textStyle(), formatter: (value: number) => tick(value, unit) },
    },
    series: [
      ...shown.map((part) => ({
        name: part.label,
        type: "bar",
        stack: "step",
        barMaxWidth: 90,
        barCategoryGap: "35%",
        itemStyle: { color: color(part.key), decal: hatchOf(part.key) },
        data: points.map((point) => point.parts[part.i]),
      })),
      {
        name: tr("ideal step"),
        type: "scatter",
        symbol: "rect",
        symbolSize: [Math.min(110, width / points.length - 20), 3],
        z: 5,
        itemStyle: { color: color("text") },
        data: points.map((point) => point.ideal),
      },
    ],
  }));
}

const kFitColors = ["exposed_comm", "sync", "dependency"];
const kReplayColor = "allocation";

// The area between the lower and the upper bound of a line, up to the end of the axis.
function intervalBand(name: string, line: ScalingFit["line"], top: number, paint: string, opacity: number) {
  return {
    name,
    type: "custom",
    silent: true,
    itemStyle: { color: paint },
    data: [[0, 0]],
    renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI): CustomSeriesRenderItemReturn => {
      const at = (row: ScalingFit["line"][number], column: 2 | 3) => api.coord([Math.log2(row[0]), Math.min(row[column] as number, top)]);
      const outline = [...line.map((row) => at(row, 2)), ...[...line].reverse().map((row) => at(row, 3))];
      return { type: "polygon", shape: { points: outline }, style: { fill: paint, opacity } };
    },
  };
}

const hasBounds = (line: ScalingFit["line"]) => line.every((row) => row[2] !== null && row[3] !== null);

export function drawFits(plot: HTMLElement, scaling: Scaling): void {
  const { points, fits, replayed } = scaling;
  const best = fits.find((fit) => fit.best);
  const bandOfBest = best !== undefined && hasBounds(best.line) ? best.line : null;
  const lines = [...fits.map((fit) => fit.line), ...(replayed ? [replayed.line] : [])];
  const top = efficiencyEnd([...points.map((point) => point.efficiency[0]), ...lines.flatMap((line) => line.map((row) => row[1]))]);
  const band = tr("95 % of further runs");
  mount(plot, 340, (width) => ({
    textStyle: textStyle(),
    legend: {
      ...legend(),
      data: [tr("measured"), ...(replayed ? [replayed.label] : []), ...fits.map((fit) => fit.label), ...(bandOfBest ? [band] : [])],
    },
    grid: { left: 52, right: 20, top: width < 520 ? 152 : width < 900 ? 92 : 52, bottom: 44 },
    tooltip: {
      ...tooltipStyle(),
      trigger: "item",
      formatter: (item: { seriesName: string; dataIndex: number }) => (item.seriesName === tr("measured") ? pointTip(scaling, item.dataIndex) : ""),
    },
    xAxis: devicesAxis(lines.flatMap((line) => [line[0][0], line[line.length - 1][0]])),
    yAxis: efficiencyAxis(top),
    series: [
      ...(bandOfBest ? [intervalBand(band, bandOfBest, top, color("line"), 0.6)] : []),
      ...fits.map((fit, i) => ({
        name: fit.label,
        type: "line",
        symbol: "none",
        z: 2,
        lineStyle: { color: color(kFitColors[i % kFitColors.length]), width: fit.best ? 2.5 : 1.5, type: fit.best ? "solid" : "dashed" },
        itemStyle: { color: color(kFitColors[i % kFitColors.length]) },
        data: fit.line.map((row) => [Math.log2(row[0]), row[1]]),
      })),
      ...(replayed && hasBounds(replayed.line) ? [intervalBand(replayed.label, replayed.line, top, color(kReplayColor), 0.2)] : []),
      ...(replayed
        ? [
            {
              name: replayed.label,
              type: "line",
              symbol: "emptyCircle",
              symbolSize: 7,
              z: 3,
              lineStyle: { color: color(kReplayColor), width: 2 },
              itemStyle: { color: color(kReplayColor) },
              data: replayed.line.map((row) => [Math.log2(row[0]), row[1]]),
            },
          ]
        : []),
      {
        ...measured(tr("measured"), points, (point) => point.efficiency[0], (value) => value),
        lineStyle: { opacity: 0 },
      },
      whiskers(points, (point) => point.efficiency, (value) => value),
    ],
  }));
}
