#!/usr/bin/env python3
"""The first finding of each real trace, checked by a few lines that share nothing with the analyzer.

usage: first_findings.py --stepscope PROGRAM --traces FOLDER --document FILE [--update]

For each trace under FOLDER this asks `stepscope analyze` for the first finding. It then asks `stepscope query` for the recorded events
alone, and works out from them, by the plainest sweep, a number that the finding rests on. The table of both is FILE; --update writes it.
Exit status 0: every number holds and the table is that in FILE; 1: not so; 77: no trace is there.
"""

import argparse
import collections
import dataclasses
import functools
import json
import os
import re
import subprocess
import sys

MISSING = 77
HEADER = """# First findings on real traces

This is what Stepscope says first about real traces, and how each claim was checked. Other people's tools recorded these traces; they are not part
of this repository. `tests/e2e/first_findings` makes the table: it reads the recorded events in SQL and counts again. It does so in a few lines of Python that
share nothing with the analyzer. The test fails when a number does not hold, or when a first finding changes and this table does not.
[FINDINGS.md](FINDINGS.md) explains the findings.

"Holds" allows for what the count cannot see. A launch-bound cost is at most 1 % more than counted and at least half of it, because idle time with another cause is not in it. A wait for input is counted to 5 %.
Tensor cores save 30 to 60 % of the time of the kernels.

| trace | first finding | Stepscope says | counted again | holds |
|---|---|---|---|---|
"""


@dataclasses.dataclass(frozen=True)
class Check:
    said: str
    counted: str
    holds: bool


class Trace:
    """One trace: its analysis, and its events by SQL."""

    def __init__(self, stepscope, path):
        self.stepscope, self.path = stepscope, path
        self.analysis = json.loads(self._output("analyze", path, "--json"))

    def _output(self, *words):
        return subprocess.run([self.stepscope, *words], check=True, capture_output=True, text=True).stdout

    @functools.lru_cache(maxsize=None)
    def rows(self, sql):
        return [tuple(row.values()) for row in json.loads(self._output("query", self.path, sql, "--format", "json"))]

    def windows(self, rank, device):
        """Begin and end of each step that counts, the idle time before it included; without steps all of the device's window."""
        steps = self.rows(f"SELECT period_start_ns, period_start_ns + period_ns FROM steps WHERE rank = {rank} AND device = {device} "
                          "AND NOT warmup ORDER BY 1")
        return steps or self.rows(f"SELECT start_ns, start_ns + window_ns FROM device_time WHERE rank = {rank} AND device = {device}")

    def has_steps(self):
        return self.rows("SELECT count(*) FROM steps")[0][0] > 0

    def ops(self, rank, device):
        """Begin, end, class and launch (begin, end; None where no launch is known) of each device op."""
        return self.rows("SELECT o.start_ns, o.end_ns, o.class, l.start_ns, l.end_ns, o.name FROM events o LEFT JOIN events l "
                         f"ON l.id = o.linked_id AND l.rank = o.rank WHERE o.rank = {rank} AND o.device = {device} "
                         "AND o.class IS NOT NULL ORDER BY 1")


def ms(ns):
    return f"{ns / 1e6:.3g} ms"


def cost(trace, finding):
    """What the finding says that it costs a step; without steps, in all of the device's window."""
    if finding["cost_ns_per_step"] is not None:
        return finding["cost_ns_per_step"]
    return finding["metrics"]["share"] * length(trace.windows(finding["rank"], finding["device"]))


def each(trace):
    return "a step" if trace.has_steps() else "in all"


def union(intervals):
    """Disjoint intervals, in order."""
    joined = []
    for begin, end in sorted(intervals):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return joined


def common(left, right):
    """Time that lies in both of two lists of disjoint intervals, by the plainest sweep."""
    total, i, j = 0, 0, 0
    while i < len(left) and j < len(right):
        total += max(0, min(left[i][1], right[j][1]) - max(left[i][0], right[j][0]))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return total


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def gaps(trace, rank, device):
    """Idle time of a device within its steps: begin, end, and the begin and end of the launch that ended it."""
    found, busy_until = [], None
    ops = trace.ops(rank, device)
    for window_begin, window_end in trace.windows(rank, device):
        busy_until = window_begin
        for begin, end, _, launch_begin, launch_end, _ in ops:
            if end <= window_begin or begin >= window_end:
                continue
            if begin > busy_until:
                found.append((busy_until, begin, launch_begin, launch_end))
            busy_until = max(busy_until, end)
        if busy_until < window_end:
            found.append((busy_until, window_end, None, None))
    return found


def steps_of(trace, finding):
    return len(trace.windows(finding["rank"], finding["device"]))


def host_bound_launches(trace, finding):
    """The device waits while the launch that ends the gap is not done: at least what the finding charges, which leaves out other causes."""
    late = sum(min(end, launch_end) - begin for begin, end, _, launch_end in gaps(trace, finding["rank"], finding["device"])
               if launch_end is not None and launch_end > begin)
    late /= steps_of(trace, finding)
    said = cost(trace, finding)
    return Check(f"{ms(said)} {each(trace)}", f"the device is idle before its next launch has returned for {ms(late)} {each(trace)}",
                 0.5 * late <= said <= 1.01 * late)


def input_bound(trace, finding):
    """The device waits while a thread is in the loader of the next batch."""
    loads = trace.rows("SELECT start_ns, end_ns FROM events WHERE device IS NULL AND name LIKE '%DataLoader%' "
                       f"AND rank = {finding['rank']}")
    waited = common(union((begin, end) for begin, end, _, _ in gaps(trace, finding["rank"], finding["device"])), union(loads))
    waited /= steps_of(trace, finding)
    said = cost(trace, finding)
    return Check(f"{ms(said)} {each(trace)}", f"the device is idle while the host is in its DataLoader for {ms(waited)} {each(trace)}",
                 0.95 * waited <= said <= 1.05 * waited)


def exposed_communication(trace, finding):
    ops = trace.ops(finding["rank"], finding["device"])
    windows = [list(window) for window in trace.windows(finding["rank"], finding["device"])]
    comm = union((begin, end) for begin, end, kind, *_ in ops if kind == "comm")
    compute = union((begin, end) for begin, end, kind, *_ in ops if kind == "compute")
    both = union([*map(tuple, comm), *map(tuple, compute)])
    exposed = (common(both, windows) - common(compute, windows)) / len(windows)
    said = cost(trace, finding)
    return Check(f"{ms(said)} {each(trace)}", f"communication without compute takes {ms(exposed)} {each(trace)}",
                 said <= 1.01 * exposed)


def tensor_cores_unused(trace, finding):
    """Matrix products of single precision: half of their time at most is what tensor cores would give."""
    windows = trace.windows(finding["rank"], finding["device"])
    names = ("sgemm", "dgrad_engine<float", "wgrad_alg", "fprop", "convolve", "scudnn", "dgrad")
    time = sum(end - begin for begin, end, kind, _, _, name in trace.ops(finding["rank"], finding["device"])
               if kind == "compute" and any(word in name for word in names) and any(b <= begin < e for b, e in windows))
    time /= len(windows)
    said = cost(trace, finding)
    return Check(f"at most {ms(said)} {each(trace)}", f"products and convolutions in single precision take {ms(time)} {each(trace)}",
                 0.3 * time <= said <= 0.6 * time)


def straggler(trace, finding):
    """The named rank is the last to arrive: for each rank, how long the others wait in collectives that it begins last."""
    waits = {}
    for rows in grouped(trace.rows("SELECT collective, start_ns, rank FROM matched_collectives ORDER BY 1, 2")):
        (_, late, rank), others = rows[-1], rows[:-1]
        waits[rank] = waits.get(rank, 0) + sum(late - begin for _, begin, _ in others)
    worst = max(waits, key=waits.get)
    share = waits[worst] / max(1, sum(waits.values()))
    return Check(f"rank {finding['rank']}", f"{share:.0%} of the time between first and last begin of collectives is waiting for rank {worst}",
                 worst == finding["rank"])


def load_imbalance(trace, finding):
    """Timelines without a device: compares the busy times of threads whose names differ in numbers only."""
    busy = collections.defaultdict(list)
    names = dict(trace.rows("SELECT track, name FROM tracks"))
    by_track = collections.defaultdict(list)
    for track, start, end in trace.rows("SELECT track, start_ns, end_ns FROM events"):
        by_track[track].append((start, end))
    for track, ranges in by_track.items():
        if "compute" in names[track]:
            busy[re.sub("[0-9]+", "#", names[track])].append(length(union(ranges)))
    times = sorted(max(busy.values(), key=max))
    longest, usual = times[-1], times[(len(times) - 1) // 2]
    metrics = finding["metrics"]
    holds = longest == metrics["busy_ns"] and usual == metrics["usual_busy_ns"]
    return Check(f"a rank is busy for {metrics['busy_ns'] / 1e9:.1f} s, the median for {metrics['usual_busy_ns'] / 1e9:.1f} s",
                 f"{longest / 1e9:.1f} s, {usual / 1e9:.1f} s", holds)


def unequal_workers(trace, finding):
    """Compute of the named stage over the mean of all stages, by the names of devices."""
    stages = collections.Counter()
    names = {device["device"]: device["name"] for rank in trace.analysis["ranks"] for device in rank["devices"]}
    for device, time in trace.rows("SELECT device, sum(end_ns - start_ns) FROM events WHERE class = 'compute' GROUP BY device"):
        stages[int(re.match(r"PP rank (\d+)", names[device])[1])] += time
    ratio = stages[finding["metrics"]["slow_stage"]] * len(stages) / sum(stages.values())
    said = finding["metrics"].get("stage_compute", ratio)
    return Check(f"the stage computes {said:.2f} × the mean", f"{ratio:.2f} ×", abs(said - ratio) < 0.01)


def grouped(rows):
    groups = {}
    for row in rows:
        groups.setdefault(row[0], []).append(row)
    return groups.values()


def trace_quality(trace, finding):
    """Launches whose device op the trace does not hold."""
    kind = trace.rows("SELECT count(*) FROM events WHERE kind = 'launch' AND linked_id IS NULL")[0][0]
    said = int(finding["metrics"]["unmatched_launches"])
    return Check(f"{said} launches without device op", f"{kind} launches with no device op of their number", kind == said)


CHECKS = {"host-bound-launches": host_bound_launches, "input-bound": input_bound, "exposed-communication": exposed_communication,
          "tensor-cores-unused": tensor_cores_unused, "straggler": straggler, "trace-quality": trace_quality, "load-imbalance": load_imbalance,
          "unequal-workers": unequal_workers}


def traces_in(folder):
    """Traces and folders of ranks, by name."""
    for tool in ("kineto", "nsys", "xplane", "chrome"):
        base = os.path.join(folder, tool)
        for name in sorted(os.listdir(base)) if os.path.isdir(base) else []:
            yield f"{tool}/{name}", os.path.join(base, name)


def row_of(name, trace):
    findings = trace.analysis["findings"]
    if not findings:
        return f"| {name} | none | – | – | – |", True
    first = findings[0]
    check = CHECKS.get(first["rule"])
    if check is None:
        return f"| {name} | {first['title']} | – | no count of its own yet | no |", False
    result = check(trace, first)
    return f"| {name} | {first['title']} | {result.said} | {result.counted} | {'yes' if result.holds else 'NO'} |", result.holds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stepscope", required=True)
    parser.add_argument("--traces", required=True)
    parser.add_argument("--document", required=True)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()

    rows = [row_of(name, Trace(options.stepscope, path)) for name, path in traces_in(options.traces)]
    if not rows:
        print(f"skipped: no traces in {options.traces}")
        return MISSING
    table = HEADER + "\n".join(row for row, _ in rows) + "\n"
    if options.update:
        with open(options.document, "w", encoding="utf-8") as file:
            file.write(table)
    with open(options.document, encoding="utf-8") as file:
        same = file.read() == table
    print(table)
    if not same:
        print(f"{options.document} holds another table: read the difference, then run this with --update")
    return 0 if same and all(holds for _, holds in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
