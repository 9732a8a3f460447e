// Readers that others wrote (DuckDB; Arrow's JavaScript library; Arrow's Parquet library in Rust) find in exported files what
// stepscope query answers, cell by cell. Exit code 77 = skipped, with the reason.
// Usage: node columnar_test.mjs STEPSCOPE PACKAGES [RUN]     PACKAGES: a folder with node_modules; RUN: looked at, too
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const program = resolve(process.argv[2]);
const packages = resolve(process.argv[3] ?? ".");
if (!existsSync(join(packages, "node_modules/parquet-wasm"))) {
  console.log("SKIPPED: DuckDB and Arrow are not installed (npm)");
  process.exit(77);
}
const require = createRequire(join(packages, "package.json"));
const { DuckDBInstance } = require("@duckdb/node-api");
const { tableFromIPC } = require("apache-arrow");
const { readParquet } = require("parquet-wasm");

let failures = 0, compared = 0;
function check(condition, what) {
  if (condition) return;
  ++failures;
  if (failures <= 20) console.error(`FAILED: ${what}`);
}

const work = mkdtempSync(join(tmpdir(), `stepscope-columnar-${process.pid}-`));
const stepscope = (...options) => execFileSync(program, options, { encoding: "utf8", maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "pipe"] });
const database = await (await DuckDBInstance.create(":memory:")).connect();

/** Every cell as text; whole numbers of 64 bits stay exact. */
const shown = (value) => (value === null || value === undefined ? "NULL" : String(value));
/** Rows of an answer; numbers that JavaScript would round stay digits. */
function answered(run, sql) {
  const exact = stepscope("query", run, sql, "--format", "json").replace(/":(-?\d{16,})(?=[,}])/g, '":"$1"');
  return JSON.parse(exact).map((row) => Object.values(row).map(shown));
}
async function inDuckdb(sql) {
  const reader = await database.runAndReadAll(sql);
  return reader.getRows().map((row) => row.map(shown));
}
function inArrow(bytes) {
  const table = tableFromIPC(bytes);
  const columns = table.schema.fields.map((_, i) => [...table.getChildAt(i)].map(shown));
  return Array.from({ length: table.numRows }, (_, row) => columns.map((column) => column[row]));
}
const inRust = (file) => inArrow(readParquet(readFileSync(file)).intoIPCStream());

function checkRows(found, wanted, what) {
  check(found.length === wanted.length, `${what}: ${found.length} rows, not ${wanted.length}`);
  for (let row = 0; row < Math.min(found.length, wanted.length); ++row) {
    ++compared;
    const same = found[row].length === wanted[row].length && found[row].every((cell, i) => cell === wanted[row][i]);
    if (!same) return check(false, `${what}, row ${row}: ${found[row]}, not ${wanted[row]}`);
  }
}

/** Every table of the run, in each format, by each reader. */
async function checkEveryTable(run, name) {
  const parquet = join(work, `${name}-parquet`), arrow = join(work, `${name}-arrow`);
  stepscope("export", run, "--format", "parquet", "-o", parquet);
  stepscope("export", run, "--format", "arrow", "-o", arrow);
  const tables = readdirSync(parquet).map((file) => file.replace(".parquet", ""));
  check(tables.includes("kernels") && tables.includes("samples"), `${name}: tables are missing`);

  for (const table of tables) {
    const wanted = answered(run, `select * from ${table}`);
    const file = join(parquet, `${table}.parquet`);
    checkRows(await inDuckdb(`select * from '${file}'`), wanted, `${name}, ${table} in DuckDB`);
    checkRows(inRust(file), wanted, `${name}, ${table} in Arrow's Rust library`);
    checkRows(inArrow(readFileSync(join(arrow, `${table}.arrow`))), wanted, `${name}, ${table} in Arrow`);
  }
}

/** Names that are hostile to formats, and numbers at the edge of 64 bits. */
function hostileTrace() {
  const names = ["", "\u0000", "a\nb", "'; drop table x", "\u202egnirts", "😀".repeat(50), "x".repeat(70000), "é", "NULL", "-0"];
  const folder = join(work, "hostile");
  mkdirSync(folder);
  const events = names.map((name, i) => ({ ph: "X", cat: "kernel", pid: 0, tid: 7, ts: 10 * i, dur: 5, name, args: { device: 0, stream: 7, correlation: i } }));
  events.push({ ph: "C", pid: 0, name: "counter", ts: 1, args: { value: 9007199254740993 } });
  writeFileSync(join(folder, "trace.json"), JSON.stringify({ traceEvents: events }));
  return folder;
}

/** More rows than a group has: several groups, pages, and tracks that end within a group. */
async function checkManyRows() {
  const run = join(work, "many");
  stepscope("synth", "--ranks", "2", "--events", "150000", "-o", run);
  const file = join(work, "events.parquet"), arrow = join(work, "events.arrow");
  stepscope("export", run, "-o", file);
  stepscope("export", run, "-o", arrow);

  const sums = (table) =>
    `select rank, kind, count(*), sum(id), min(start_ns), max(end_ns), sum(dur_ns), sum(coalesce(correlation, -1)), count(stream), count(distinct name) from ${table} group by 1, 2 order by 1, 2`;
  const wanted = answered(run, sums("events"));
  checkRows(await inDuckdb(sums(`'${file}'`)), wanted, "many rows in DuckDB");
  const [[groups]] = await inDuckdb(`select count(distinct row_group_id) from parquet_metadata('${file}')`);
  check(Number(groups) >= 2, `${groups} groups of rows, not at least 2`);

  const inOrder = answered(run, "select start_ns, name from events").flat();
  const flat = (table) => Array.from(table.getChild("start_ns")).flatMap((start, i) => [shown(start), shown(names(table, i))]);
  const names = (table, i) => table.getChild("name").get(i);
  for (const [reader, table] of [["Arrow", tableFromIPC(readFileSync(arrow))], ["Rust", tableFromIPC(readParquet(readFileSync(file)).intoIPCStream())]]) {
    const found = flat(table);
    check(found.length === inOrder.length && found.every((cell, i) => cell === inOrder[i]), `many rows in ${reader} differ`);
  }
  return run;
}

/** Answers of stepscope query as files. */
async function checkAnswers(run) {
  const questions = [
    "select name, count(*) as n, avg(dur_ns) as mean, max(stream) as stream from events group by name order by 3 desc, 1",
    "select 1 as a, 2.5 as a, 'text' as b, null as none, -9223372036854775808 as least",
    "select id, dur_ns / 7.0 as part, case when id % 3 = 0 then null else kind end as kind from events where rank = 0",
    "select * from steps where step < 0",
    // More than a dictionary takes, and pages that end before their last row would.
    "with recursive c(i) as (select 1 union all select i + 1 from c where i < 60) select hex(zeroblob(250000)) || i as t from c",
    "select name, gain from findings order by 1",
  ];
  for (const [i, sql] of questions.entries()) {
    const file = join(work, `answer-${i}.parquet`), arrow = join(work, `answer-${i}.arrow`);
    const tried = spawnSync(program, ["query", run, sql, "-o", file]);
    if (tried.status !== 0) { check(i === 5, `${sql}: ${tried.stderr}`); continue; }
    stepscope("query", run, sql, "-o", arrow);
    const wanted = answered(run, sql);
    checkRows(await inDuckdb(`select * from '${file}'`), wanted, `${sql} in DuckDB`);
    checkRows(inRust(file), wanted, `${sql} in Arrow's Rust library`);
    checkRows(inArrow(readFileSync(arrow)), wanted, `${sql} in Arrow`);
  }

  const again = spawnSync(program, ["query", run, "select 1", "-o", join(work, "answer-0.parquet")], { encoding: "utf8" });
  check(again.status !== 0 && again.stderr.includes("--force"), `a file that is there was replaced: ${again.stderr}`);
  const wrong = spawnSync(program, ["query", run, "select nothing from nowhere", "-o", join(work, "wrong.parquet")]);
  check(wrong.status !== 0 && !existsSync(join(work, "wrong.parquet")), "a wrong question left a file");
}

const run = join(work, "run");
stepscope("synth", "--ranks", "3", "--steps", "6", "-o", run);
await checkEveryTable(run, "run");
await checkEveryTable(hostileTrace(), "hostile");
if (process.argv[4]) await checkEveryTable(resolve(process.argv[4]), "given");
await checkAnswers(await checkManyRows());

const [[meaning]] = await inDuckdb(`select decode(value) from parquet_kv_metadata('${join(work, "run-parquet/kernels.parquet")}') where decode(key) = 'column:dur_ns'`);
check(meaning === "duration", `the meaning of dur_ns is "${meaning}"`);

rmSync(work, { recursive: true, force: true });
if (failures > 0) process.exit(1);
console.log(`${compared} rows are the same in all readers`);
