// Memory over time: live bytes stacked by purpose, and what is held from the system.
import type { Data, MemoryOfDevice } from "../data";
import { select, tip } from "../dom";
import { byteUnit, bytes, duration, niceEnd, tick, timeUnit } from "../format";
import { axisStyle, color, textStyle, tooltipStyle } from "../theme";
import { tr } from "../words";
import { mount } from "./chart";

// From the bottom up: what stays longest first.
const kOrder = ["weights", "gradients", "optimizer", "activations", "workspace", "input", "other"];

function option(memory: MemoryOfDevice) {
  const purposes = [...kOrder, ...Object.keys(memory.purposes)].filter(
    (purpose, i, all) => purpose in memory.purposes && all.indexOf(purpose) === i,
  );
  // Stacked here and not by the chart, which would stack points of equal time onto each other.
  const tops: number[][] = [];
  for (const purpose of purposes) {
    const below = tops[tops.length - 1];
    tops.push(memory.purposes[purpose].map((value, i) => value + (below ? below[i] : 0)));
  }
  const peak = Math.max(1, ...memory.reserved, ...(tops[tops.length - 1] ?? []));
  const unit = byteUnit(peak);
  const time = timeUnit(memory.end);
  // The last level holds until the end of the run.
  const last = memory.times.length - 1;
  const series = (values: number[]) => [
    ...memory.times.map((t, i) => [t, values[i] / unit.size]),
    ...(memory.times[last] < memory.end ? [[memory.end, values[last] / unit.size]] : []),
  ];
  const nearFull = memory.capacity !== null && memory.capacity <= 2 * peak;
  return {
    textStyle: textStyle(),
    legend: { top: 0, left: 0, icon: "roundRect", itemHeight: 10, itemWidth: 14, textStyle: textStyle(), data: [...purposes.map((purpose) => tr(purpose)), tr("reserved")], selectedMode: false },
    grid: { left: 64, right: 20, top: 62, bottom: 44 },
    tooltip: {
      ...tooltipStyle(),
      trigger: "axis",
      formatter: (items: { dataIndex: number }[]) => {
        const i = Math.min(items[0].dataIndex, last);
        const line = (label: string, paint: string, value: number) => ({ label, color: color(paint), value: bytes(value) });
        const lines = purposes.map((purpose) => line(tr(purpose), `m-${purpose}`, memory.purposes[purpose][i])).reverse();
        return tip(duration(memory.times[i]), [line(tr("reserved"), "text", memory.reserved[i]), ...lines]);
      },
    },
    xAxis: {
      type: "value",
      name: tr("time since the first event, {0}", time.name),
      nameLocation: "middle",
      nameGap: 26,
      max: memory.end,
      ...axisStyle(),
      splitLine: { show: false },
      axisLabel: { ...textStyle(), hideOverlap: true, formatter: (value: number) => tick(value, time), showMaxLabel: false },
    },
    yAxis: {
      type: "value",
      name: tr("memory, {0}", unit.name),
      max: niceEnd((nearFull ? Math.max(memory.capacity ?? 0, peak) : peak) / unit.size),
      ...axisStyle(),
      nameTextStyle: { ...textStyle(), align: "left", padding: [0, 0, 0, -52] },
    },
    series: [
      ...purposes
        .map((purpose, i) => ({
          name: tr(purpose),
          type: "line",
          step: "end",
          symbol: "none",
          lineStyle: { width: 0 },
          areaStyle: { color: color(`m-${purpose}`), opacity: 1 },
          itemStyle: { color: color(`m-${purpose}`) },
          data: series(tops[i]),
        }))
        .reverse(), // lower levels cover the feet of higher ones
      {
        name: tr("reserved"),
        type: "line",
        step: "end",
        symbol: "none",
        lineStyle: { width: 1.5, color: color("text") },
        itemStyle: { color: color("text") },
        data: series(memory.reserved),
        markLine: nearFull
          ? {
              symbol: "none",
              silent: true,
              label: { formatter: tr("capacity {0}", bytes(memory.capacity ?? 0)), color: color("text"), position: "insideEndTop" },
              lineStyle: { color: color("critical"), type: "dashed" },
              data: [{ yAxis: (memory.capacity ?? 0) / unit.size }],
            }
          : undefined,
      },
    ],
  };
}

export function drawMemory(plot: HTMLElement, data: Data): void {
  if (data.memory.length === 0) {
    plot.textContent = tr("No allocation was recorded one by one; the peaks are in the table.");
    return;
  }
  let chosen = 0;
  const { redraw } = mount(plot, 320, () => option(data.memory[chosen]));
  if (data.memory.length > 1)
    plot.before(
      select(
        tr("Device "),
        data.memory.map((memory, i) => [String(i), memory.device]),
        (value) => {
          chosen = Number(value);
          redraw();
        },
      ),
    );
}
