// Stacked bars: what each step's device window is made of, and the critical path in each step.
import type { Data, Part, StepsOfDevice } from "../data";
import { element, select, tip } from "../dom";
import { duration, niceEnd, share, tick, timeUnit } from "../format";
import { axisStyle, color, hatchOf, textStyle, tooltipStyle } from "../theme";
import { tr } from "../words";
import { mount } from "./chart";

// More devices than this are chosen from a list; beside each other they would be too small to compare.
const kMaxPanels = 4;

function barLabel(steps: StepsOfDevice, index: number): string {
  if (steps.names) return steps.names[index];
  return steps.first[index] === steps.last[index] ? `${steps.first[index]}` : `${steps.first[index]}–${steps.last[index]}`;
}

function largest(devices: StepsOfDevice[]): number {
  let result = 0;
  for (const steps of devices)
    steps.first.forEach((_, i) => {
      result = Math.max(
        result,
        Object.values(steps.parts).reduce((sum, values) => sum + values[i], 0),
      );
    });
  return result;
}

// One step says little alone: a bar for each device shows which one is late. Null where devices have more steps.
function asOneStep(devices: StepsOfDevice[]): StepsOfDevice | null {
  const [step] = devices[0].first;
  const isOne = (steps: StepsOfDevice) => steps.first.length === 1 && steps.first[0] === step && steps.last[0] === step;
  if (devices.length < 2 || !devices.every(isOne)) return null;
  const parts: Record<string, number[]> = {};
  for (const key of new Set(devices.flatMap((steps) => Object.keys(steps.parts))))
    parts[key] = devices.map((steps) => steps.parts[key]?.[0] ?? 0);
  return {
    device: tr("step {0}", step),
    first: devices.map(() => step),
    last: devices.map(() => step),
    parts,
    names: devices.map((steps) => steps.device),
  };
}

// A thousandth of the axis is less than a pixel. The tooltip and the table have it.
const kVisible = 1e-3;

function isVisible(values: number[] | undefined, top: number): boolean {
  return values?.some((ns) => ns > top * kVisible) ?? false;
}

function option(steps: StepsOfDevice, parts: Part[], top: number, width: number) {
  const unit = timeUnit(top);
  const present = parts.filter((part) => part.key in steps.parts);
  return {
    textStyle: textStyle(),
    grid: { left: 56, right: 12, top: 28, bottom: steps.first.length > 60 ? 66 : 42 },
    tooltip: {
      ...tooltipStyle(),
      trigger: "axis",
      axisPointer: { type: "shadow" },
      formatter: (items: { dataIndex: number }[]) => {
        const i = items[0].dataIndex;
        const total = present.reduce((sum, part) => sum + steps.parts[part.key][i], 0);
        const lines = present
          .filter((part) => steps.parts[part.key][i] > 0)
          .map((part) => ({
            color: color(part.key),
            label: part.label,
            value: `${duration(steps.parts[part.key][i])} · ${share(steps.parts[part.key][i] / Math.max(total, 1))}`,
          }));
        const bar = barLabel(steps, i);
        return tip(steps.names ? `${bar}: ${duration(total)}` : tr("step {0}: {1}", bar, duration(total)), lines);
      },
    },
    xAxis: {
      type: "category",
      name: steps.names ? tr("device") : tr("step"),
      nameLocation: "middle",
      nameGap: 24,
      data: steps.first.map((_, i) => barLabel(steps, i)),
      ...axisStyle(),
      splitLine: { show: false },
    },
    yAxis: {
      type: "value",
      name: tr("time, {0}", unit.name),
      max: niceEnd(top),
      ...axisStyle(),
      nameTextStyle: { ...textStyle(), align: "left", padding: [0, 0, 0, -44] },
      axisLabel: { ...textStyle(), formatter: (value: number) => tick(value, unit)  },
    },
    dataZoom: steps.first.length > 60 ? [{ type: "slider", height: 18, bottom: 6, borderColor: color("line") }] : [],
    // What is drawn takes the browser about 70 µs a bar.
    series: present.filter((part) => isVisible(steps.parts[part.key], top)).map((part) => ({
      name: part.label,
      type: "bar",
      stack: "step",
      barCategoryGap: steps.first.length > width / 8 ? "0%" : "20%",
      barMaxWidth: 120, // a single step is a bar, too, and no wall
      itemStyle: { color: color(part.key), decal: hatchOf(part.key) },
      data: steps.parts[part.key].map((ns) => (ns > (top * kVisible) / 4 ? ns : null)),
    })),
  };
}

function partKey(devices: StepsOfDevice[], parts: Part[], top: number): HTMLElement {
  const key = element("ul", { className: "key" });
  for (const part of parts) {
    if (!devices.some((steps) => isVisible(steps.parts[part.key], top))) continue;
    const mark = element("i", { className: `p p-${part.key}` });
    key.append(element("li", {}, mark, part.label));
  }
  return key;
}

export function drawPath(plot: HTMLElement, data: Data): void {
  const path = data.path;
  if (path === null) return;
  const top = largest([path.steps]);
  plot.before(partKey([path.steps], path.parts, top));
  mount(plot, 240, (width) => option(path.steps, path.parts, top, width));
}

export function drawSteps(plot: HTMLElement, data: Data): void {
  if (data.steps.length === 0) {
    plot.append(element("p", { className: "empty", textContent: tr("All steps are warm-up; see the table.") }));
    return;
  }
  const top = largest(data.steps);
  plot.before(partKey(data.steps, data.parts, top));
  // Panels share the width: all are there before the first one is drawn.
  const panel = (steps: () => StepsOfDevice) => {
    const title = element("h3", { textContent: steps().device });
    const area = element("div");
    plot.append(element("div", { className: "panel" }, title, area));
    return () => {
      const { redraw } = mount(area, 240, (width) => option(steps(), data.parts, top, width));
      return () => {
        title.textContent = steps().device;
        redraw();
      };
    };
  };
  plot.classList.add("panels");
  const oneStep = asOneStep(data.steps);
  if (oneStep) {
    panel(() => oneStep)();
    return;
  }
  if (data.steps.length <= kMaxPanels) {
    for (const draw of data.steps.map((steps) => panel(() => steps))) draw();
    return;
  }
  let chosen = 0;
  const redraw = panel(() => data.steps[chosen])();
  plot.before(
    select(
      tr("Device "),
      data.steps.map((steps, i) => [String(i), steps.device]),
      (value) => {
        chosen = Number(value);
        redraw();
      },
    ),
  );
}
