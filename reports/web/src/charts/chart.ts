// Life of a chart: drawn when the page is there, redrawn when width or colour scheme change.
import * as echarts from "echarts/core";
import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import { DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, VisualMapComponent } from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";
import type { EChartsCoreOption } from "echarts/core";

echarts.use([
  BarChart,
  CustomChart,
  HeatmapChart,
  LineChart,
  ScatterChart,
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TooltipComponent,
  VisualMapComponent,
  CanvasRenderer,
]);

export type Chart = echarts.ECharts;

const redraws: (() => void)[] = [];
export function redrawAll(): void {
  for (const redraw of redraws) redraw();
}

// `option` is asked again for every redraw. Returns the chart and a function that redraws it.
export function mount(plot: HTMLElement, height: number, option: (width: number) => EChartsCoreOption): { chart: Chart; redraw: () => void } {
  plot.style.height = `${height}px`;
  const chart = echarts.init(plot, undefined, { renderer: "canvas" });
  const redraw = () => chart.setOption({ animation: false, ...option(plot.clientWidth) }, { notMerge: true });
  redraw();
  redraws.push(redraw);
  let width = plot.clientWidth;
  new ResizeObserver(() => {
    if (plot.clientWidth === width && plot.clientHeight === chart.getHeight()) return;
    width = plot.clientWidth;
    chart.resize();
    redraw();
  }).observe(plot);
  return { chart, redraw };
}
