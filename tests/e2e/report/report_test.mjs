// Opens the pages that write_reports made in Chromium and checks what a reader would: no error, no request, charts drawn, tables
// sort and search, dark and light, narrow and wide, hostile names inert. Exit code 77 = skipped, with the reason.
// Usage: node report_test.mjs PAGES REPORT_WEB [SCREENSHOT_FOLDER]     (pictures for people: drawing them takes as long as all checks)
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const pages = resolve(process.argv[2]);
const web = resolve(process.argv[3] ?? ".");
const shots = process.argv[4] ? resolve(process.argv[4]) : null;

function skip(reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(77);
}

const browserPath = process.env.STEPSCOPE_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
if (!browserPath) skip("no Chromium was found; install chromium or set STEPSCOPE_CHROMIUM");
if (!existsSync(join(web, "node_modules/playwright-core"))) skip("the report page's packages are not installed (npm)");
const { chromium } = createRequire(join(web, "package.json"))("playwright-core");

// A machine may be busy with its compilers.
const kPatienceMs = 180_000;
const kRedrawMs = 60_000;

let failures = 0;
function check(condition, what) {
  if (condition) return;
  ++failures;
  console.error(`FAILED: ${what}`);
}

// Asks again until the answer passes, so that a page that draws late is no failure. Returns the last answer.
async function eventually(ask, passes) {
  const end = Date.now() + kRedrawMs;
  for (;;) {
    const answer = await ask();
    if (passes(answer) || Date.now() > end) return answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const profile = mkdtempSync(join(tmpdir(), "stepscope-report-"));
if (shots) mkdirSync(shots, { recursive: true });
const context = await chromium.launchPersistentContext(profile, {
  executablePath: browserPath,
  headless: true,
  timeout: kPatienceMs,
  viewport: { width: 1280, height: 900 },
  args: [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});

// Opens a page and watches it; everything it complains about or asks for counts against it.
async function open(name) {
  const page = await context.newPage();
  page.setDefaultTimeout(kPatienceMs);
  const url = pathToFileURL(join(pages, `${name}.html`)).href;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) check(false, `${name}: console says ${message.text()}`);
  });
  page.on("pageerror", (error) => check(false, `${name}: the page throws ${error}`));
  page.on("dialog", (dialog) => {
    check(false, `${name}: a dialog opened: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => check(request.url() === url, `${name}: the page asks for ${request.url()}`));
  await page.goto(url, { waitUntil: "load" });
  await page.waitForFunction(() => document.documentElement.dataset.drawn === "all" || !document.documentElement.classList.contains("js"));
  await page.waitForTimeout(200);
  return page;
}

// How many distinct colours a chart's canvases have: 1 = nothing was drawn.
async function coloursOf(page, chart) {
  return page.$eval(`[data-chart="${chart}"]`, (plot) => {
    const seen = new Set();
    for (const canvas of plot.querySelectorAll("canvas")) {
      // Read from a copy: only a context that is made with willReadFrequently is read often.
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      const pixels = copy.getImageData(0, 0, canvas.width, canvas.height).data;
      for (let i = 0; i < pixels.length; i += 4) seen.add((pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2]);
    }
    return seen.size;
  });
}

// In which direction a chart hatches a part, by its pixels: along its stripes they differ least. "" where there are few.
async function hatchIn(page, chart, part) {
  return page.$eval(
    `[data-chart="${chart}"]`,
    (plot, name) => {
      const style = getComputedStyle(document.documentElement);
      const fill = [1, 3, 5].map((at) => parseInt(style.getPropertyValue(`--${name}`).trim().slice(at, at + 2), 16));
      const [ink, alpha] = style.getPropertyValue("--hatch").includes("255") ? [255, 0.45] : [0, 0.38];
      const sums = { level: 0, rising: 0, falling: 0 };
      let count = 0;
      for (const canvas of plot.querySelectorAll("canvas")) {
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
        copy.drawImage(canvas, 0, 0);
        const pixels = copy.getImageData(0, 0, canvas.width, canvas.height).data;
        // How much of the stripe's ink a pixel of this part has, from 0 to 1; NaN of other pixels.
        const inkAt = (x, y) => {
          const at = 4 * (y * canvas.width + x);
          const channel = fill.indexOf(ink === 255 ? Math.min(...fill) : Math.max(...fill));
          const share = (pixels[at + channel] - fill[channel]) / (ink - fill[channel]);
          const fits = fill.every((value, i) => Math.abs(value + share * (ink - value) - pixels[at + i]) < 6);
          return fits && share > -0.1 && share < alpha + 0.1 ? share : NaN;
        };
        for (let y = 1; y < canvas.height - 1; y++)
          for (let x = 0; x < canvas.width - 1; x++) {
            const [here, right, up, down] = [inkAt(x, y), inkAt(x + 1, y), inkAt(x + 1, y - 1), inkAt(x + 1, y + 1)];
            if ([here, right, up, down].some(Number.isNaN)) continue;
            count++;
            sums.level += Math.abs(right - here);
            sums.rising += Math.abs(up - here);
            sums.falling += Math.abs(down - here);
          }
      }
      return count < 500 ? "" : Object.keys(sums).reduce((best, way) => (sums[way] < sums[best] ? way : best));
    },
    part,
  );
}

// Charts hatch idle time as the page's bars do, whose gradients stripes cross.
async function checkHatches(page, charts) {
  const ways = { "135deg": "rising", "45deg": "falling", "180deg": "level" };
  const seen = new Set();
  for (const [chart, kind] of Object.entries(charts)) {
    // A part that is in no key could be another one's colour between two stripes.
    const parts = await page.$$eval(".key i", (marks, before) => marks.flatMap((mark) => [...mark.classList]).filter((name) => name.startsWith(before)), kind);
    for (const part of new Set(parts.map((name) => name.slice(kind.length)))) {
      const angle = await page.evaluate((name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}-hatch`).trim(), part);
      const drawn = angle === "" ? "" : await hatchIn(page, chart, part);
      if (drawn === "") continue;
      seen.add(ways[angle]);
      check(drawn === ways[angle], `${chart}: ${part} has stripes that are ${drawn}, bars have them ${ways[angle]}`);
    }
  }
  return seen;
}

async function checkDrawn(page, chart, what) {
  const colours = await eventually(
    () => coloursOf(page, chart),
    (count) => count > 3,
  );
  check(colours > 3, what);
}

async function checkNoSidewaysScroll(page, name, width) {
  await page.setViewportSize({ width, height: 900 });
  await page.waitForTimeout(150);
  const excessNow = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  const excess = await eventually(excessNow, (pixels) => pixels <= 0);
  check(excess <= 0, `${name}: at ${width} px the page is ${excess} px too wide`);
}

// Points at the timeline, row by row, until a tooltip shows the text; true if one did.
async function tooltipShows(page, wanted) {
  await page.locator("#timeline").scrollIntoViewIfNeeded();
  const box = await page.locator('[data-chart="timeline"]').boundingBox();
  const places = [];
  for (let y = 18; y < box.height - 90; y += 22) places.push(...[0.3, 0.5, 0.7].map((x) => [box.width * x, y]));
  for (const pauseMs of [60, 300, 1500]) // a busy machine shows it late
    for (const [x, y] of places) {
      await page.mouse.move(box.x + x, box.y + y);
      await page.waitForTimeout(pauseMs);
      const tip = page.locator('[data-chart="timeline"] .tip');
      if ((await tip.count()) > 0 && (await tip.first().isVisible()) && (await tip.first().textContent()).includes(wanted)) return true;
    }
  return false;
}

async function shoot(page, name) {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

async function shootTimeline(page, name) {
  if (shots) await page.locator("#timeline").screenshot({ path: join(shots, `${name}.png`) });
}

async function testCharts() {
  const page = await open("faulty");
  for (const chart of ["steps", "path", "timeline", "memory", "bandwidth", "waits"])
    await checkDrawn(page, chart, `faulty: the chart ${chart} is empty`);
  const figures = await page.$$eval("figure.chart", (all) => all.filter((figure) => figure.offsetHeight < 100).length);
  check(figures === 0, `faulty: ${figures} charts have no height`);
  const ways = await checkHatches(page, { steps: "p-", timeline: "c-" });
  check(ways.size >= 2, `faulty: stripes of ${ways.size} directions are seen`);
  await shoot(page, "faulty-light");
  await checkNoSidewaysScroll(page, "faulty", 1920);
  await shoot(page, "faulty-1920");
  await checkNoSidewaysScroll(page, "faulty", 400);
  await checkNoSidewaysScroll(page, "faulty", 320);
  await shoot(page, "faulty-320");
  await page.close();
}

// One step of several devices is a chart with a bar for each of them, and nothing to choose.
async function testOneStep() {
  const page = await open("one-step");
  await checkDrawn(page, "steps", "one-step: the steps chart is empty");
  const titles = await page.$$eval("#steps .panel h3", (all) => all.map((title) => title.textContent));
  check(titles.length === 1 && titles[0] === "step 0", `one-step: the panels are called ${JSON.stringify(titles)}`);
  check((await page.$$("#steps select")).length === 0, "one-step: there is a device to choose");
  await shoot(page, "one-step");
  await page.close();
}

async function testDark() {
  const page = await open("faulty");
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForTimeout(200);
  check((await background()) !== light, "faulty: dark mode changes no background");
  await checkDrawn(page, "steps", "faulty: the steps chart is empty in dark mode");
  await shoot(page, "faulty-dark");
  const dark = await background();
  await page.emulateMedia({ colorScheme: "dark", media: "print" });
  check((await background()) !== dark, "faulty: paper is dark");
  check((await page.pdf()).length > 50_000, "faulty: the printed page is empty");
  await page.close();
}

async function testTables() {
  const page = await open("faulty");
  const column = (index) =>
    page.$$eval("#kernels-table tbody tr:not([hidden])", (rows, i) => rows.map((row) => Number(row.cells[i].dataset.v)), index);
  await page.click('#kernels-table thead th:has-text("Total") button');
  const descending = await column(4);
  check(descending.length > 5, "faulty: the kernel table has few rows");
  check(descending.every((value, i) => i === 0 || descending[i - 1] >= value), "faulty: first click does not sort from the largest");
  await page.click('#kernels-table thead th:has-text("Total") button');
  const ascending = await column(4);
  check(ascending.every((value, i) => i === 0 || ascending[i - 1] <= value), "faulty: second click does not sort from the smallest");

  const field = page.locator('input[aria-label="Search: Device operations by name"]');
  await field.fill("backward");
  const names = await page.$$eval("#kernels-table tbody tr:not([hidden])", (rows) => rows.map((row) => row.textContent));
  check(names.length > 0 && names.length < ascending.length, "faulty: search does not narrow the table");
  check(names.every((name) => name.includes("backward")), "faulty: search keeps rows without the word");
  await field.fill("no such kernel");
  check((await column(4)).length === 0, "faulty: search for nonsense keeps rows");
  await field.fill("");
  await page.selectOption("#kernels select", { label: "device 1" });
  const devices = await page.$$eval("#kernels-table tbody tr:not([hidden])", (rows) => [...new Set(rows.map((row) => row.cells[1].textContent))]);
  check(devices.length === 1 && devices[0] === "device 1", "faulty: the device filter keeps other devices");
  await page.close();
}

async function testTimeline() {
  const page = await open("faulty");
  const jumps = await page.$$("button.jump");
  check(jumps.length > 0, "faulty: no finding leads to the timeline");
  const options = await page.$$eval("#timeline select option", (all) => all.map((option) => option.value));
  check(options.includes("run") && options.includes("typical"), `faulty: timeline views are ${options}`);
  await jumps[0].click();
  const chosen = await page.$eval("#timeline select", (select) => select.value);
  check(chosen.startsWith("finding-"), `faulty: the finding's button shows ${chosen}`);
  await checkDrawn(page, "timeline", "faulty: the finding's view is empty");
  await shootTimeline(page, "timeline-finding");
  await page.selectOption("#timeline select", "run");
  await page.click('#timeline button[aria-label="Zoom in"]');
  await page.waitForTimeout(100);
  await shootTimeline(page, "timeline-zoomed");
  check(await tooltipShows(page, "begins at"), "faulty: the timeline has no tooltip");
  await shootTimeline(page, "timeline-tooltip");
  await page.close();
}

async function testOthers() {
  for (const name of ["healthy", "full", "many-ranks", "one-device", "empty"]) {
    const page = await open(name);
    const sections = await page.$$eval("section", (all) => all.map((one) => one.id));
    const always = ["summary", "findings", "steps", "facts", "quality"];
    for (const id of always) check(sections.includes(id), `${name}: the section ${id} is missing`);
    const without = { "one-device": ["communication", "waiting"], empty: ["devices", "idle", "timeline", "communication", "kernels", "memory"] }[name] ?? [];
    for (const id of without) check(!sections.includes(id), `${name}: the section ${id} has nothing to show`);
    const lacking = (await page.locator("#left-out li").allTextContents()).join();
    check((without.length > 0) === lacking.includes("Communication"), `${name}: the page leaves out ${lacking}`);
    const links = await page.$$eval("nav a", (all) => all.map((one) => one.getAttribute("href").slice(1)));
    check(links.join() === sections.join(), `${name}: the navigation has ${links}, the page ${sections}`);
    if (name === "empty") check(sections.length === always.length + 1, `${name}: there are sections of nothing: ${sections}`);
    const repeated = await page.$$eval("[id]", (all) => all.map((one) => one.id).filter((id, i, ids) => ids.indexOf(id) !== i));
    check(repeated.length === 0, `${name}: ids are not unique: ${repeated}`);
    if (name === "many-ranks")
      for (const chart of ["steps", "timeline", "waits"]) await checkDrawn(page, chart, `${name}: the chart ${chart} is empty`);
    await checkNoSidewaysScroll(page, name, 320);
    await page.setViewportSize({ width: 1280, height: 900 });
    await shoot(page, name);
    await page.close();
  }
}

// The sections of facts that few runs have all of, and the switch of the kernel tables, by keys alone.
async function testFull() {
  const page = await open("full");
  for (const id of ["path", "waiting", "pipelines", "launches", "copies", "phases", "health"])
    check(await page.locator(`#${id} table`).first().isVisible(), `full: the section ${id} shows no table`);
  const widths = await page.$$eval("#path .mean .bar .p", (parts) => parts.map((part) => part.getBoundingClientRect().width));
  const bar = await page.$eval("#path .mean .bar", (one) => one.getBoundingClientRect().width);
  check(Math.abs(widths.reduce((sum, width) => sum + width, 0) - bar) < 2, "full: the parts of the path do not fill its bar");
  const shown = () => page.$$eval("#kernels [role=tabpanel]", (all) => all.filter((one) => one.offsetHeight > 0).map((one) => one.id));
  check((await shown()).join() === "kernels-by-name", `full: at first the kernels are shown ${await shown()}`);
  await page.focus("#kernels-by-name-tab");
  await page.keyboard.press("ArrowRight");
  check((await shown()).join() === "kernels-by-op", `full: the next tab shows ${await shown()}`);
  check((await page.textContent("#ops-table")).includes("made xxx"), "full: the table by operation lacks the operation");
  await page.keyboard.press("End");
  check((await shown()).join() === "kernels-by-layer", `full: the last tab shows ${await shown()}`);
  const tab = await page.evaluate(() => [document.activeElement.getAttribute("aria-selected"), document.activeElement.textContent]);
  check(tab.join() === "true,By layer", `full: the chosen tab is ${tab}`);
  await page.evaluate(() => document.querySelectorAll("details").forEach((block) => (block.open = true)));
  await checkNoSidewaysScroll(page, "full", 320);
  await shoot(page, "full-320");
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: "dark" });
  await shoot(page, "full-dark");
  await page.close();
}

async function testHostile() {
  const page = await open("hostile");
  check((await page.$$("img")).length === 0, "hostile: a name became an element");
  check((await page.$$("script")).length === 2, "hostile: a name became a script");
  for (const id of ["kernels-table", "ops-table", "path-names-table", "wait-causes-table", "phases-table", "memory-owners-table", "host-ops-table"])
    check((await page.textContent(`#${id}`)).includes("<img src=x onerror=alert(1)>"), `hostile: ${id} does not show the name as text`);
  // Tooltips are the one place where charts build elements from names.
  check(await tooltipShows(page, "<img src=x"), "hostile: the tooltip does not show the name as text");
  check((await page.$$("img")).length === 0, "hostile: a tooltip became an element");
  await page.setViewportSize({ width: 1280, height: 900 });
  await checkNoSidewaysScroll(page, "hostile", 320);
  await page.setViewportSize({ width: 1280, height: 900 });
  await shoot(page, "hostile");
  await page.close();
}

// The scaling report: every chart drawn in light and dark, the lost time of another pair, tables, widths, hostile names.
const kScalingCharts = ["speedup", "efficiency", "factors", "loss", "step-parts", "fits"];

async function testScaling() {
  const page = await open("scaling");
  for (const chart of kScalingCharts) await checkDrawn(page, chart, `scaling: the chart ${chart} is empty`);
  await shoot(page, "scaling-light");
  const chosen = await page.$eval("#loss select", (select) => select.selectedOptions[0].textContent);
  check(chosen === "1 → 8 devices", `scaling: the lost time first shown is ${chosen}`);
  await page.selectOption("#loss select", { label: "4 → 8 devices" });
  await checkDrawn(page, "loss", "scaling: the lost time of another pair is empty");
  await page.click('#kernels-growth thead th:has-text("Lost") button');
  const column = await page.$$eval("#kernels-growth thead th", (heads) => heads.findIndex((head) => head.textContent.includes("Lost")));
  const lost = await page.$$eval("#kernels-growth tbody tr", (rows, i) => rows.map((row) => Number(row.cells[i].dataset.v)), column);
  check(lost.length > 3 && lost.every((value, i) => i === 0 || lost[i - 1] >= value), "scaling: the kernel table does not sort");
  const sections = await page.$$eval("section", (all) => all.map((one) => one.id));
  const links = await page.$$eval("nav a", (all) => all.map((one) => one.getAttribute("href").slice(1)));
  check(links.join() === sections.join(), `scaling: the navigation has ${links}, the page ${sections}`);
  const repeated = await page.$$eval("[id]", (all) => all.map((one) => one.id).filter((id, i, ids) => ids.indexOf(id) !== i));
  check(repeated.length === 0, `scaling: ids are not unique: ${repeated}`);
  const factors = page.locator('[data-chart="factors"]');
  await factors.scrollIntoViewIfNeeded();
  const box = await factors.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const tipNow = async () => ((await factors.locator(".tip").count()) > 0 ? await factors.locator(".tip").first().textContent() : "");
  const tip = await eventually(tipNow, (text) => text.includes("devices"));
  check(tip.includes("devices") && tip.includes("load balance"), `scaling: the tooltip of the factors says ${tip}`);
  for (const width of [1920, 320]) await checkNoSidewaysScroll(page, "scaling", width);
  await shoot(page, "scaling-320");
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForTimeout(200);
  for (const chart of kScalingCharts) await checkDrawn(page, chart, `scaling: the chart ${chart} is empty in dark mode`);
  await shoot(page, "scaling-dark");
  check((await page.pdf()).length > 50_000, "scaling: the printed page is empty");
  await page.close();

  const hostile = await open("scaling-hostile");
  check((await hostile.$$("img")).length === 0, "scaling-hostile: a name became an element");
  check((await hostile.$$("script")).length === 2, "scaling-hostile: a name became a script");
  for (const id of ["kernels-growth", "runs-table"])
    check((await hostile.textContent(`#${id}`)).includes("<img src=x onerror=alert(1)>"), `scaling-hostile: ${id} does not show the name as text`);
  check((await hostile.textContent("#summary")).includes("<img src=x"), "scaling-hostile: the differences do not show the name as text");
  await checkNoSidewaysScroll(hostile, "scaling-hostile", 320);
  await hostile.close();
}

// The page of a search: points with labels, light and dark, widths, no empty plot, hostile names.
async function testTuning() {
  const page = await open("tuning");
  const svg = page.locator("#predictions svg");
  check(await svg.isVisible(), "tuning: predictions against measurements are not drawn");
  const box = await svg.boundingBox();
  const marks = await page.$$eval("#predictions svg g", (all) =>
    all.map((one) => ({ label: one.querySelector("title").textContent, place: one.querySelector("circle").getBoundingClientRect().toJSON() })),
  );
  check(marks.length === 2, `tuning: ${marks.length} settings are drawn`);
  for (const mark of marks) {
    check(mark.label.includes("predicted") && mark.label.includes("measured"), `tuning: a point says ${mark.label}`);
    const inside = mark.place.left >= box.x && mark.place.right <= box.x + box.width && mark.place.top >= box.y && mark.place.bottom <= box.y + box.height;
    check(inside, "tuning: a point is outside of its picture");
  }
  const colour = () => page.$eval("#predictions svg circle", (one) => getComputedStyle(one).stroke);
  const light = await colour();
  check(light !== "none", "tuning: points have no colour");
  const sections = await page.$$eval("section", (all) => all.map((one) => one.id));
  const links = await page.$$eval("nav a", (all) => all.map((one) => one.getAttribute("href").slice(1)));
  check(links.join() === sections.join(), `tuning: the navigation has ${links}, the page ${sections}`);
  const repeated = await page.$$eval("[id]", (all) => all.map((one) => one.id).filter((id, i, ids) => ids.indexOf(id) !== i));
  check(repeated.length === 0, `tuning: ids are not unique: ${repeated}`);

  await page.selectOption("#trials select", { label: "accepted" });
  const verdicts = await page.$$eval("#trials-table tbody tr:not([hidden])", (rows) => rows.map((row) => row.textContent));
  check(verdicts.length > 0 && verdicts.every((text) => text.includes("accepted")), `tuning: the filter shows ${verdicts}`);
  await shoot(page, "tuning-light");
  for (const width of [1920, 320]) await checkNoSidewaysScroll(page, "tuning", width);
  await shoot(page, "tuning-320");
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: "dark" });
  check((await colour()) !== light, "tuning: dark mode changes no colour of the points");
  await shoot(page, "tuning-dark");
  check((await page.pdf()).length > 20_000, "tuning: the printed page is empty");
  await page.close();

  const hostile = await open("tuning-hostile");
  check((await hostile.$$("img")).length === 0, "tuning-hostile: a name became an element");
  check((await hostile.$$("script")).length === 2, "tuning-hostile: a name became a script");
  for (const id of ["trials-table", "knobs-table", "summary"])
    check((await hostile.textContent(`#${id}`)).includes("<img src=x onerror=alert(1)>"), `tuning-hostile: ${id} does not show the name as text`);
  await checkNoSidewaysScroll(hostile, "tuning-hostile", 320);
  await hostile.close();

  const begun = await open("tuning-begun");
  check((await begun.textContent("#trials")).includes("Nothing has been measured"), "tuning-begun: no trial, and no word of it");
  check((await begun.locator("svg").count()) === 0, "tuning-begun: an empty picture is drawn");
  await checkNoSidewaysScroll(begun, "tuning-begun", 320);
  await begun.close();
}

// Pages in Chinese: they name their language, charts are drawn, and the text that the script adds is Chinese, too.
async function testChinese() {
  for (const [name, charts] of [["full-zh", ["steps", "path", "timeline", "memory", "bandwidth", "waits"]], ["scaling-zh", kScalingCharts], ["tuning-zh", []]]) {
    const page = await open(name);
    check((await page.getAttribute("html", "lang")) === "zh-CN", `${name}: the page does not say that it is Chinese`);
    for (const chart of charts) await checkDrawn(page, chart, `${name}: the chart ${chart} is empty`);
    const added = await page.$$eval(".tools, .choice, .tabs, .key", (all) => all.map((one) => one.textContent).join(" "));
    check(/[\u4e00-\u9fff]/.test(added), `${name}: the script adds no Chinese`);
    for (const english of ["Device ", "Search", "Show ", "rows", "From", "idle", "compute"])
      check(!added.includes(english), `${name}: the script says ${english}`);
    const hints = await page.$$eval(".tools [aria-label]", (all) => all.map((one) => one.getAttribute("aria-label")));
    check(hints.length > 0 && hints.every((hint) => /[\u4e00-\u9fff]/.test(hint)), `${name}: labels for screen readers are ${hints}`);
    if (name === "full-zh") check(await tooltipShows(page, "开始于"), `${name}: the timeline's tooltip is not Chinese`);
    await checkNoSidewaysScroll(page, name, 320);
    await page.setViewportSize({ width: 1280, height: 900 });
    await shoot(page, name);
    await page.close();
  }
}

// What axe-core finds of the rules of WCAG 2.2 AA and of good practice: names for screen readers, contrast, keyboards. Everything that
// unfolds is unfolded first. Violations of lesser weight are printed and fail nothing.
async function testAccessibility() {
  const rules = readFileSync(join(web, "node_modules/axe-core/axe.min.js"), "utf8");
  for (const name of ["faulty", "full", "many-ranks", "healthy", "empty", "full-zh", "scaling", "tuning", "tuning-begun"]) {
    const page = await open(name);
    await page.evaluate(rules);
    await page.evaluate(() => document.querySelectorAll("details").forEach((block) => (block.open = true)));
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(200);
      const violations = await page.evaluate(async () => {
        const found = await axe.run(document, { resultTypes: ["violations"] });
        return found.violations.map((one) => ({ ...one, places: one.nodes.map((node) => `${node.target} ${node.any[0]?.message ?? node.html}`) }));
      });
      for (const { id, impact, help, places } of violations) {
        const text = `${name}, ${colorScheme}: ${impact} ${id}: ${help}: ${places.length} places, ${places.slice(0, 3).join("; ").slice(0, 500)}`;
        if (["serious", "critical"].includes(impact)) check(false, text);
        else console.log(text);
      }
    }
    await page.close();
  }
}

// The page works by keys alone: Tab reaches each control, in the order of the page, and what has the focus is framed.
async function testKeyboard() {
  const page = await open("faulty");
  await page.evaluate(() => document.querySelectorAll("details").forEach((block) => (block.open = true)));
  const controls = await page.$$eval("a[href], button, select, input, summary, [tabindex='0']", (all) =>
    all.filter((one) => one.offsetParent !== null && !one.closest("[hidden]") && one.tabIndex >= 0).length,
  );
  const seen = [];
  for (let presses = 0; presses < controls + 20; ++presses) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const one = document.activeElement;
      const style = getComputedStyle(one);
      const all = [...document.querySelectorAll("*")];
      return { place: all.indexOf(one), body: one === document.body, framed: style.outlineStyle !== "none", what: one.outerHTML.slice(0, 120) };
    });
    if (at.body || (seen.length > 0 && at.place <= seen[0].place)) break;
    check(at.framed, `faulty: what has the focus is not framed: ${at.what}`);
    seen.push(at);
  }
  check(seen.length >= controls, `faulty: Tab reaches ${seen.length} of ${controls} controls`);
  check(seen.every((one, i) => i === 0 || seen[i - 1].place < one.place), "faulty: the order of Tab is not that of the page");

  const first = page.locator("button.jump").first();
  await first.focus();
  await page.keyboard.press("Enter");
  const chosen = await page.$eval("#timeline select", (select) => select.value);
  check(chosen.startsWith("finding-"), `faulty: Enter on a finding's button shows ${chosen}`);
  await page.close();
}

async function testWithoutScript() {
  const browser = context.browser() ?? (await chromium.launch({ executablePath: browserPath, timeout: kPatienceMs, args: ["--no-sandbox", "--disable-gpu"] }));
  const plain = await browser.newContext({ javaScriptEnabled: false });
  const page = await plain.newPage();
  page.setDefaultTimeout(kPatienceMs);
  await page.goto(pathToFileURL(join(pages, "faulty.html")).href);
  check(await page.locator("noscript p").isVisible(), "faulty: without JavaScript nobody says so");
  for (const id of ["kernels-table", "path-table", "layers-table"])
    check((await page.locator(`#${id}`).count()) === 0 || (await page.locator(`#${id}`).isVisible()), `faulty: without JavaScript ${id} is hidden`);
  check((await page.locator("figure.chart:visible").count()) === 0, "faulty: without JavaScript empty charts are shown");
  await plain.close();
  if (!context.browser()) await browser.close();
}

try {
  if (!readFileSync(join(pages, "faulty.html"), "utf8").includes('id="data"')) skip("the program was built without npm: no charts");
  await testCharts();
  await testOneStep();
  await testDark();
  await testTables();
  await testTimeline();
  await testOthers();
  await testFull();
  await testHostile();
  await testScaling();
  await testTuning();
  await testChinese();
  await testAccessibility();
  await testKeyboard();
  await testWithoutScript();
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }); // its processes may still end
}
console.log(failures === 0 ? "report pages: all checks passed" : `report pages: ${failures} checks failed`);
process.exit(failures === 0 ? 0 : 1);
