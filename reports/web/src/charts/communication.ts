// Bus bandwidth by message size, and how long each device waits for the others.
import type { Data } from "../data";
import { tip } from "../dom";
import { bytes, duration, tick, timeUnit } from "../format";
import { axisStyle, color, textStyle, tooltipStyle } from "../theme";
import { tr } from "../words";
import { mount } from "./chart";

const kSymbols = ["circle", "triangle", "rect", "diamond", "pin", "arrow"];
const kColors = ["exposed_comm", "compute", "sync", "exposed_copy", "input", "peer"];

export function drawBandwidth(plot: HTMLElement, data: Data): void {
  if (data.bandwidth.length === 0) {
    plot.textContent = tr("No bandwidth is known: every collective lacks a participant or its size.");
    return;
  }
  const communicators = new Set(data.bandwidth.map((series) => series.communicator)).size;
  const sizes = data.bandwidth.flatMap((series) => series.points.map((point) => point[0]));
  const low = Math.floor(Math.log2(Math.min(...sizes)) - 0.3);
  const high = Math.ceil(Math.log2(Math.max(...sizes)) + 0.3);
  const place = (points: [number, number][]) => points.map(([size, rate]) => [Math.log2(size), rate]);
  mount(plot, 300, () => ({
    textStyle: textStyle(),
    legend: { top: 0, left: 0, itemHeight: 10, textStyle: textStyle(), inactiveColor: color("line") },
    grid: { left: 56, right: 24, top: 58, bottom: 44 },
    tooltip: {
      ...tooltipStyle(),
      trigger: "item",
      formatter: (item: { seriesName: string; color: string; value: [number, number] }) =>
        tip(item.seriesName, [{ color: item.color, label: bytes(2 ** item.value[0]), value: `${item.value[1].toPrecision(3)} GB/s` }]),
    },
    // Powers of two at equal distance: drawn as logarithms, labelled as sizes.
    xAxis: {
      type: "value",
      min: low,
      max: high,
      interval: Math.ceil((high - low) / 10),
      name: tr("message size (log scale)"),
      nameLocation: "middle",
      nameGap: 26,
      ...axisStyle(),
      axisLabel: { ...textStyle(), hideOverlap: true, formatter: (value: number) => bytes(2 ** value).replace(/\.0+ /, " ") },
    },
    yAxis: {
      type: "value",
      min: 0,
      name: tr("bus bandwidth, GB/s"),
      ...axisStyle(),
      nameTextStyle: { ...textStyle(), align: "left", padding: [0, 0, 0, -44] },
    },
    series: data.bandwidth.flatMap((series, i) => {
      const name = communicators > 1 ? `${series.op} (${series.communicator})` : series.op;
      const paint = color(kColors[i % kColors.length]);
      return [
        {
          name,
          type: "scatter",
          symbol: kSymbols[i % kSymbols.length],
          symbolSize: 7,
          itemStyle: { color: paint, opacity: 0.55 },
          data: place(series.points),
        },
        ...(series.fit.length > 0
          ? [
              {
                name: tr("{0}, fit", name),
                type: "line",
                symbol: "none",
                lineStyle: { color: paint, width: 1.5, type: "dashed" },
                itemStyle: { color: paint },
                data: place(series.fit),
              },
            ]
          : []),
      ];
    }),
  }));
}

export function drawWaits(plot: HTMLElement, data: Data): void {
  if (data.waits.length === 0) {
    plot.textContent = tr("No wait is known.");
    return;
  }
  const unit = timeUnit(Math.max(...data.waits.map((wait) => wait.ns), 1));
  mount(plot, 64 + 26 * data.waits.length, (width) => ({
    textStyle: textStyle(),
    grid: { left: Math.min(130, width / 3), right: 70, top: 6, bottom: 44 },
    tooltip: {
      ...tooltipStyle(),
      trigger: "item",
      formatter: (item: { dataIndex: number }) => {
        const wait = data.waits[item.dataIndex];
        return tip(wait.device, [{ color: color("peer"), label: tr("lost by late peers"), value: duration(wait.ns) }]);
      },
    },
    xAxis: {
      type: "value",
      name: data.perStep ? tr("lost a step, {0}", unit.name) : tr("lost, {0}", unit.name),
      splitNumber: Math.max(2, Math.min(6, Math.floor((width - 200) / 50))),
      nameLocation: "middle",
      nameGap: 26,
      ...axisStyle(),
      axisLabel: { ...textStyle(), hideOverlap: true, formatter: (value: number) => tick(value, unit) },
    },
    yAxis: {
      type: "category",
      inverse: true,
      data: data.waits.map((wait) => wait.device),
      ...axisStyle(),
      splitLine: { show: false },
    },
    series: [
      {
        type: "bar",
        barMaxWidth: 18,
        itemStyle: { color: color("peer") },
        label: {
          show: true,
          position: "right",
          color: color("text"),
          formatter: (item: { dataIndex: number }) => duration(data.waits[item.dataIndex].ns),
        },
        data: data.waits.map((wait) => wait.ns),
      },
    ],
  }));
}

export function drawWaitMap(plot: HTMLElement, data: Data): void {
  const map = data.waitMap;
  if (!map) return;
  const cells = map.ns.flatMap((row, y) => row.flatMap((ns, x) => (ns < 0 ? [] : [[x, y, ns]])));
  const longest = Math.max(...cells.map((cell) => cell[2]), 1);
  const step = (column: number) =>
    map.first[column] === map.last[column] ? tr("step {0}", map.first[column]) : tr("steps {0} to {1}", map.first[column], map.last[column]);
  mount(plot, 104 + Math.max(map.devices.length * 14, 40), (width) => ({
    textStyle: textStyle(),
    grid: { left: Math.min(130, width / 3), right: 16, top: 40, bottom: 44 },
    tooltip: {
      ...tooltipStyle(),
      trigger: "item",
      formatter: (item: { color: string; value: [number, number, number] }) =>
        tip(`${map.devices[item.value[1]]}, ${step(item.value[0])}`, [{ color: item.color, label: tr("lost by late peers"), value: duration(item.value[2]) }]),
    },
    visualMap: {
      type: "continuous",
      min: 0,
      max: longest,
      orient: "horizontal",
      right: 12,
      top: 0,
      itemHeight: 140,
      itemWidth: 12,
      calculable: false,
      text: [duration(longest), "0"],
      textStyle: textStyle(),
      inRange: { color: [color("soft"), color("input"), color("critical")] },
    },
    xAxis: {
      type: "category",
      data: map.first,
      name: tr("step"),
      nameLocation: "middle",
      nameGap: 26,
      ...axisStyle(),
      splitLine: { show: false },
    },
    yAxis: { type: "category", inverse: true, data: map.devices, ...axisStyle(), splitLine: { show: false } },
    series: [{ type: "heatmap", data: cells, progressive: 0, emphasis: { itemStyle: { borderColor: color("text"), borderWidth: 1 } } }],
  }));
}
