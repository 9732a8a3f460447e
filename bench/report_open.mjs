// How long a report takes to be open and drawn: from asking a running Chromium for the page to the first frame with the charts on
// the screen, and until all charts are drawn. Medians of the times, each in a new tab; Chromium's own start is not in them, parsing,
// scripts and painting are.
// Usage: node bench/report_open.mjs REPORT.html [TIMES]         (from the repository's root, after scripts/demo.sh)
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const report = resolve(process.argv[2] ?? "demo/report.html");
const times = Number(process.argv[3] ?? 7);
const { chromium } = createRequire(resolve("build/release/report-web/package.json"))("playwright-core");
const profile = mkdtempSync(join(tmpdir(), "stepscope-open-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.STEPSCOPE_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync),
  headless: true,
  viewport: { width: 1280, height: 900 },
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
});
const first = [], all = [];
let charts = 0;
for (let i = 0; i < times; ++i) {
  const page = await context.newPage();
  const begin = performance.now();
  await page.goto(pathToFileURL(report).href, { waitUntil: "load" });
  // Charts on the screen draw while the page loads; the frame after the next has them.
  const nextFrames = () => page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await nextFrames();
  first.push((performance.now() - begin) / 1000);
  await page.waitForFunction(() => document.documentElement.dataset.drawn === "all", null, { polling: 20 });
  await nextFrames();
  all.push((performance.now() - begin) / 1000);
  charts = await page.evaluate(() => document.querySelectorAll("[data-chart] canvas").length);
  await page.close();
}
await context.close();
rmSync(profile, { recursive: true, force: true });
const shown = (seconds) => {
  seconds.sort((a, b) => a - b);
  return `${seconds[seconds.length >> 1].toFixed(2)} s (${seconds[0].toFixed(2)} to ${seconds.at(-1).toFixed(2)} s)`;
};
console.log(`${report}: open and drawn in ${shown(first)}, all ${charts} canvases in ${shown(all)}; medians of ${times}`);
