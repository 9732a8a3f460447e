// How long a report takes to be open and drawn: from asking a running Chromium for the page to the first frame after all charts
// have their marks. Median of the times, each in a new tab; Chromium's own start is not in it, parsing, scripts and painting are.
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
const taken = [];
let charts = 0;
for (let i = 0; i < times; ++i) {
  const page = await context.newPage();
  const begin = performance.now();
  await page.goto(pathToFileURL(report).href, { waitUntil: "load" });
  // Charts draw while the page loads; the frame after the next has them on the screen.
  charts = await page.evaluate(
    () =>
      new Promise((drawn) =>
        requestAnimationFrame(() => requestAnimationFrame(() => drawn(document.querySelectorAll("[data-chart] canvas").length))),
      ),
  );
  taken.push((performance.now() - begin) / 1000);
  await page.close();
}
await context.close();
rmSync(profile, { recursive: true, force: true });
taken.sort((a, b) => a - b);
const shown = (seconds) => seconds.toFixed(2);
console.log(
  `${report}: ${charts} canvases, open and drawn in ${shown(taken[taken.length >> 1])} s (median of ${times}; ${shown(taken[0])} to ${shown(taken.at(-1))} s)`,
);
