// Adds charts, sorting, searching and tabs to a page that is complete without them.
import { drawBandwidth, drawWaitMap, drawWaits } from "./charts/communication";
import { redrawAll } from "./charts/chart";
import { drawMemory } from "./charts/memory";
import { drawEfficiency, drawFactors, drawFits, drawLoss, drawSpeedup, drawStepParts } from "./charts/scaling";
import { drawPath, drawSteps } from "./charts/steps";
import { drawTimeline } from "./charts/timeline";
import { readData, type Page } from "./data";
import { enhanceTables } from "./tables";
import { enhanceTabs } from "./tabs";
import { drawInTurn } from "./turns";
import { useWords } from "./words";

const kCharts: Record<string, (plot: HTMLElement, data: Page) => void> = {
  steps: drawSteps,
  path: drawPath,
  timeline: drawTimeline,
  memory: drawMemory,
  bandwidth: drawBandwidth,
  waits: drawWaits,
  "wait-map": drawWaitMap,
  speedup: (plot, data) => drawSpeedup(plot, data.scaling),
  efficiency: (plot, data) => drawEfficiency(plot, data.scaling),
  factors: (plot, data) => drawFactors(plot, data.scaling),
  loss: (plot, data) => drawLoss(plot, data.scaling),
  "step-parts": (plot, data) => drawStepParts(plot, data.scaling),
  fits: (plot, data) => drawFits(plot, data.scaling),
};

function start(): void {
  document.documentElement.classList.add("js");
  const data = readData();
  useWords(data.words);
  enhanceTables();
  enhanceTabs();
  drawInTurn([...document.querySelectorAll<HTMLElement>("[data-chart]")], (plot) => kCharts[plot.dataset.chart ?? ""]?.(plot, data));
  // Paper is light: colours are asked for again when printing begins and ends.
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", redrawAll);
}

start();
