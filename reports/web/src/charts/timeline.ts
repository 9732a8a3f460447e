// The timeline: a row a stream or host thread, a rectangle an operation or a block of neighbours.
import * as echarts from "echarts/core";
import type { Data, TimelineView } from "../data";
import { element, select, tip } from "../dom";
import { duration, tick, timeUnit } from "../format";
import { axisStyle, color, hatchOf, inkOn, textStyle, tooltipStyle } from "../theme";
import { tr } from "../words";
import { mount } from "./chart";

// In the order of SpanClass (reports/html/timeline_data.h): style name and label.
const kClasses: [string, string][] = [
  ["compute", "compute"],
  ["exposed_comm", "communication"],
  ["exposed_copy", "copy"],
  ["input", "waiting for input"],
  ["sync", "blocking synchronization"],
  ["allocation", "memory allocation"],
  ["profiler", "profiler overhead"],
  ["phase", "phase"],
  ["step", "step"],
  ["launch", "launch call"],
];
const kFields = 6;
const kRowHeight = 22;

interface Params {
  coordSys: { x: number; y: number; width: number; height: number };
}
interface Api {
  value(dimension: number): number;
  coord(point: [number, number]): [number, number];
  size(extent: [number, number]): [number, number];
}

function renderSpan(fills: string[], inks: string[], labels: string[]) {
  const hatches = kClasses.map(([name]) => hatchOf(name));
  return (params: Params, api: Api) => {
    const row = api.value(0);
    const [left, middle] = api.coord([api.value(1), row]);
    const right = api.coord([api.value(2), row])[0];
    const height = Math.max(api.size([0, 1])[1] * 0.76, 2);
    const cls = api.value(3);
    const shape = echarts.graphic.clipRectByRect(
      // Never thinner than half a pixel: a short operation is still there.
      { x: left, y: middle - height / 2, width: Math.max(right - left, 0.5), height },
      params.coordSys,
    );
    if (!shape) return undefined;
    const text = shape.width > 40 ? labels[api.value(4)] : "";
    return {
      type: "rect",
      shape,
      style: { fill: fills[cls], decal: hatches[cls] },
      textContent: text ? { style: { text, fill: inks[cls], fontSize: 10, width: shape.width - 6, overflow: "truncate" } } : undefined,
      textConfig: text ? { position: "insideLeft", distance: 3 } : undefined,
    };
  };
}

function option(data: Data, view: TimelineView, width: number) {
  const { rows, names } = data.timeline;
  const place = new Map(view.rows.map((row, i) => [row, i]));
  const items: number[][] = [];
  for (let i = 0; i < view.spans.length; i += kFields) {
    const [row, begin, length, cls, name, count] = view.spans.slice(i, i + kFields);
    items.push([place.get(row) ?? 0, view.begin + begin, view.begin + begin + length, cls, name, count]);
  }
  const unit = timeUnit(view.length);
  const fills = kClasses.map(([name]) => color(name));
  const left = Math.min(180, Math.max(108, width / 5));
  return {
    textStyle: textStyle(),
    grid: { left, right: 16, top: 8, bottom: 74 },
    tooltip: {
      ...tooltipStyle(),
      trigger: "item",
      formatter: (item: { value: number[] }) => {
        const [row, begin, end, cls, name, count] = item.value;
        const lines = [
          { color: fills[cls], label: tr(kClasses[cls][1]), value: rows[view.rows[row]] },
          { label: tr("begins at"), value: duration(begin) },
          { label: count > 1 ? tr("{0} operations in", count) : tr("takes"), value: duration(end - begin) },
        ];
        return tip(count > 1 ? tr("longest: {0}", names[name]) : names[name], lines);
      },
    },
    xAxis: {
      type: "value",
      min: view.begin,
      max: view.begin + view.length,
      name: tr("time since the first event, {0}", unit.name),
      nameLocation: "middle",
      nameGap: 26,
      ...axisStyle(),
      axisLabel: {
        ...textStyle(),
        hideOverlap: true,
        showMinLabel: false,
        showMaxLabel: false,
        formatter: (value: number) => tick(value, unit),
      },
    },
    yAxis: {
      type: "category",
      inverse: true,
      data: view.rows.map((row) => rows[row]),
      ...axisStyle(),
      axisTick: { show: false },
      axisLabel: { ...textStyle(), fontSize: 11, width: left - 10, overflow: "truncate", interval: 0 },
    },
    dataZoom: [
      { type: "inside", filterMode: "weakFilter", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, minValueSpan: 1000 },
      {
        type: "slider",
        filterMode: "weakFilter",
        height: 20,
        bottom: 8,
        borderColor: color("line"),
        textStyle: textStyle(),
        labelFormatter: (value: number) => duration(value),
      },
    ],
    series: [
      {
        type: "custom",
        renderItem: renderSpan(fills, fills.map(inkOn), names),
        dimensions: ["row", "begin", "end", "class", "name", "count"],
        encode: { x: [1, 2], y: 0 },
        data: items,
        clip: true,
      },
    ],
  };
}

export function drawTimeline(plot: HTMLElement, data: Data): void {
  const { views, devicesLeftOut } = data.timeline;
  if (views.length === 0) return;
  // One step says more than the whole run at first sight.
  let view = views.find((candidate) => candidate.id === "typical") ?? views[0];
  const height = () => 90 + kRowHeight * view.rows.length;
  const { chart, redraw } = mount(plot, height(), (width) => option(data, view, width));
  const show = (id: string) => {
    view = views.find((candidate) => candidate.id === id) ?? view;
    plot.style.height = `${height()}px`;
    chart.resize();
    redraw();
  };
  const choice = select(tr("Show "), views.map((candidate) => [candidate.id, candidate.title]), show);
  const box = choice.querySelector("select");
  if (box) box.value = view.id;

  let range: [number, number] = [0, 100];
  chart.on("datazoom", () => {
    const zoom = (chart.getOption() as { dataZoom: { start: number; end: number }[] }).dataZoom[0];
    range = [zoom.start, zoom.end];
  });
  const zoomTo = (start: number, end: number) => {
    const span = Math.min(end - start, 100);
    const from = Math.min(Math.max(start, 0), 100 - span);
    chart.dispatchAction({ type: "dataZoom", start: from, end: from + span });
  };
  const button = (text: string, label: string, act: () => void) => {
    const made = element("button", { type: "button", textContent: text, title: label });
    made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
    return made;
  };
  const scaled = (factor: number) => {
    const middle = (range[0] + range[1]) / 2;
    const half = ((range[1] - range[0]) / 2) * factor;
    zoomTo(middle - half, middle + half);
  };
  const moved = (share: number) => {
    const step = (range[1] - range[0]) * share;
    zoomTo(range[0] + step, range[1] + step);
  };
  const key = element("ul", { className: "key" });
  const used = new Set<number>();
  for (const candidate of views) for (let i = 3; i < candidate.spans.length; i += kFields) used.add(candidate.spans[i]);
  kClasses.forEach(([name, label], i) => {
    if (!used.has(i)) return;
    const mark = element("i", { className: `p c-${name}` });
    key.append(element("li", {}, mark, tr(label)));
  });
  plot.before(
    element(
      "div",
      { className: "tools" },
      choice,
      button("+", tr("Zoom in"), () => scaled(0.5)),
      button("−", tr("Zoom out"), () => scaled(2)),
      button("◀", tr("Earlier"), () => moved(-0.25)),
      button("▶", tr("Later"), () => moved(0.25)),
      button(tr("All"), tr("Whole view"), () => zoomTo(0, 100)),
      element("span", { className: "note", textContent: tr("Ctrl + wheel zooms, drag moves.") }),
    ),
    key,
  );
  if (devicesLeftOut > 0)
    plot.after(element("p", { className: "note", textContent: tr("{0} more devices are not drawn; stepscope view shows all.", devicesLeftOut) }));
  for (const jump of document.querySelectorAll<HTMLButtonElement>("button.jump"))
    jump.addEventListener("click", () => {
      show(jump.dataset.view ?? "run");
      if (box) box.value = view.id;
      document.getElementById("timeline")?.scrollIntoView();
      box?.focus({ preventScroll: true });
    });
}
