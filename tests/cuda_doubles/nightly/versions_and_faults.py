#!/usr/bin/env python3
"""Records one training over each version of CUPTI with each of its faults, and compares the trace with what CUPTI handed over.

For each pair, every record is a row or a counted loss. stepscope doctor judges the trace so and names the cause. The program
prints, computes and exits as it does unrecorded. Prints a table; exit status 1 where a pair fails.

usage: versions_and_faults.py --tree build/release/cuda_doubles --work FOLDER [--quick] [NAME…]     all pairs, or a fault each version
"""
import dataclasses
import glob
import itertools
import json
import os
import re
import sys

sys.dont_write_bytecode = True
import over_doubles

# As cuptiGetVersion() numbers the releases of CUDA (tracer/cupti/known_faults.h). Each but 12.3 and 12.9 writes another structure of some
# record than the one before it (tests/cuda_doubles/cupti/record_layouts.h).
VERSIONS = {"12.0": 19, "12.2": 20, "12.3": 21, "12.4": 22, "12.5": 23, "12.6": 24, "12.8": 26, "12.9": 27, "13.0": 130000,
            "13.1": 130100, "13.2": 130200, "13.3": 130300, "13.4": 130400}
FIRST_WITHOUT_A_CRASH = 27  # 12.9 drops records where the tool gives no buffer; older ones crash
LOSES_TIMES = (24, 130100)  # 12.6 to before 13.1, where the tool's clock is used

# A thread of the program, and one for each GPU.
TRAINING = "run mnist --device cuda:all --batch 2 --steps 4 --no-evaluate --log-every 0 --json".split()
GPUS = {"DOUBLE_CUDA_DEVICES": 2}
# Two buffers for three threads.
FEW_BUFFERS = ("--cuda-buffer-mb", "1", "--cuda-buffer-kb", "512")


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    knobs: dict
    options: tuple = ()   # for stepscope record
    loses: str = ""       # what doctor and the program's last words have to name; "" = no event is lost


FAULTS = (
    Fault("hole", {"DOUBLE_CUPTI_FAULTS": "hole"}, loses="left a part of its buffers unreadable"),
    Fault("no buffer", {"DOUBLE_CUPTI_FAULTS": "null"}, FEW_BUFFERS, loses="--cuda-buffer-mb"),
    Fault("zero times", {"DOUBLE_CUPTI_FAULTS": "zero"}, loses="no possible times"),
    Fault("slow enable", {"DOUBLE_CUPTI_ENABLE_MS": 20}),
    Fault("clock ahead", {"DOUBLE_CUPTI_AHEAD_NS": 5_000_000_000}),
    Fault("dropped", {"DOUBLE_CUPTI_FAULTS": "drop"}, loses="--cuda-buffer-mb"),
)


class Handed:
    """What CUPTI's double handed over (cupti/ledger.cpp)."""

    def __init__(self, folder):
        self.counts = {}
        for path in glob.glob(os.path.join(folder, "*.json")):
            with open(path, encoding="utf-8") as file:
                for what, count in json.load(file).items():
                    self.counts[what] = self.counts.get(what, 0) + count

    def __getitem__(self, what):
        return self.counts.get(what, 0)

    def calls(self):
        return {what.removeprefix("call "): count for what, count in self.counts.items() if what.startswith("call ")}

    def untimed(self):
        return self["kernels without times"] + self["copies without times"]


class Trace:
    def __init__(self, doubles, folder):
        rows = doubles.read("query", folder, "--format", "json", "SELECT kind, name, count(*) AS n FROM events GROUP BY kind, name")[1]
        self.of_kind, self.calls = {}, {}
        for row in rows:
            self.of_kind[row["kind"]] = self.of_kind.get(row["kind"], 0) + row["n"]
            if re.match("cu(da)?[A-Z]", row["name"]) and row["kind"] not in ("kernel", "range"):
                self.calls[row["name"]] = self.calls.get(row["name"], 0) + row["n"]

        copied = "SELECT sum(bytes) AS bytes FROM copies WHERE kind = 'memcpy'"
        self.copied_bytes = doubles.read("query", folder, "--format", "json", copied)[1][0]["bytes"]
        devices = "SELECT DISTINCT name, capacity_bytes, threads FROM devices WHERE device >= 0"
        self.devices = doubles.read("query", folder, "--format", "json", devices)[1]
        self.lost = sum(process["dropped"] for process in doubles.read("info", folder, "--json")[1])
        self.doctor_status, self.doctor = doubles.read("doctor", folder, "--json")

    def untimed(self):
        found = [re.match(r"([\d,]+) kernels and copies have no possible times", doubt) for doubt in self.doubts()]
        return sum(int(match[1].replace(",", "")) for match in found if match)

    def doubts(self):
        return [doubt for file in self.doctor["files"] for doubt in file["doubts"]]

    def reasons(self):
        return [loss["why"] for file in self.doctor["files"] for loss in file["lost"]]


def plain(summary_text):
    """A training's summary without its times."""
    summary = json.loads(summary_text)
    for device in summary["devices"]:
        del device["step_ns"]
    return summary


def compare_rows(trace, handed):
    """Sentences on what is in one of the two and not in the other."""
    counts = [("kernels", trace.of_kind.get("kernel", 0) + trace.of_kind.get("collective", 0), handed["kernels"]),
              ("copies", trace.of_kind.get("memcpy", 0), handed["copies"]), ("fills", trace.of_kind.get("memset", 0), handed["fills"]),
              ("records without times", trace.untimed(), handed.untimed())]
    for name in sorted({*trace.calls, *handed.calls()}):
        counts.append((name, trace.calls.get(name, 0), handed.calls().get(name, 0)))
    faults = [f"{what}: {rows} rows of {records} records" for what, rows, records in counts if rows != records]
    if handed["kernels"] == 0:
        faults.append("CUPTI's double handed over no kernel")

    unreadable = handed["unreadable"]
    if unreadable > 0:
        # These cannot be counted: an estimate by the size of the records before.
        if not unreadable / 2 < trace.lost < unreadable * 2:
            faults.append(f"{trace.lost} counted as lost of {unreadable} unreadable records")
    elif trace.lost != handed["dropped"] + handed["in small buffers"] + handed.untimed():
        faults.append(f"{trace.lost} counted as lost of {handed['dropped'] + handed['in small buffers'] + handed.untimed()}")
    return faults


def compare_values(trace, handed):
    """Sentences on values of rows that lie at other places than CUPTI's double wrote them."""
    faults = []
    if trace.copied_bytes != handed["copied bytes"]:
        faults.append(f"{trace.copied_bytes} bytes copied of {handed['copied bytes']}")
    if trace.devices != [{"name": "Double of a GPU", "capacity_bytes": 4 << 30, "threads": 4}]:
        faults.append(f"the devices are {trace.devices}")
    return faults


def judge_doctor(fault, version, trace, handed, said):
    loses = trace.lost > 0
    # Stepscope does not let those versions use its clock, so that they lose no times.
    is_avoided = fault.name == "zero times" and LOSES_TIMES[0] <= VERSIONS[version] < LOSES_TIMES[1]
    faults = []
    if loses != (bool(fault.loses) and not is_avoided):
        faults.append(f"{trace.lost} records are lost")
    if trace.doctor_status != int(loses):
        faults.append(f"doctor exits with {trace.doctor_status}")
    if not loses and handed.untimed() == 0 and trace.doctor["trust"]["score"] != 100:
        faults.append(f"trust is {trace.doctor['trust']['score']} though nothing was lost")
    if loses:
        texts = " ".join((*trace.doubts(), *trace.reasons()))
        for where, text in (("doctor", texts), ("the end of the recording", said)):
            if fault.loses not in text:
                faults.append(f"{where} does not say '{fault.loses}'")
        if "larger --buffer-mb" in texts:
            faults.append("doctor blames the recorder's buffers")
    return faults


def try_pair(doubles, version, fault, expected):
    """The pair's row of the table, and what is wrong."""
    folder = doubles.folder(f"{version} {fault.name}")
    handed_folder = os.path.join(folder, "handed")
    os.mkdir(handed_folder)
    knobs = {**GPUS, **fault.knobs, "DOUBLE_CUPTI_VERSION": VERSIONS[version], "DOUBLE_CUPTI_LEDGER": handed_folder}
    if fault.name == "no buffer" and VERSIONS[version] >= FIRST_WITHOUT_A_CRASH:
        del knobs["DOUBLE_CUPTI_FAULTS"]
    done = doubles.run(["record", *fault.options, "-o", "run", "--", doubles.program, *TRAINING], folder, knobs)
    if done.returncode != 0:
        return (version, fault.name, "-", "-", "-", "FAILED"), [f"exit status {done.returncode}: {done.stderr}"]

    handed, trace = Handed(handed_folder), Trace(doubles, os.path.join(folder, "run"))
    faults = compare_rows(trace, handed) + compare_values(trace, handed) + judge_doctor(fault, version, trace, handed, done.stderr)
    if plain(done.stdout) != expected:
        faults.append("the training's summary is another one")
    records = sum(handed.calls().values()) + handed["kernels"] + handed["copies"] + handed["fills"] + handed.untimed()
    gone = handed["unreadable"] + handed["dropped"] + handed["in small buffers"] + handed.untimed()
    row = (version, fault.name, records, gone, trace.lost, "FAILED" if faults else "ok")
    return row, faults


def main():
    options = over_doubles.arguments_of(__doc__.split("\n", maxsplit=1)[0])
    doubles = over_doubles.Doubles(options.tree, options.work)
    pairs = [(version, fault) for version in VERSIONS for fault in FAULTS]
    if options.quick:
        pairs = list(zip(VERSIONS, itertools.cycle(FAULTS)))
    if options.names:
        pairs = [pair for pair in pairs if any(name in f"{pair[0]} {pair[1].name}" for name in options.names)]

    alone = doubles.run(TRAINING, doubles.folder("alone"), GPUS)
    if alone.returncode != 0:
        sys.exit(f"the training fails over the doubles: {alone.stderr}")
    expected, rows, all_faults = plain(alone.stdout), [], []
    for version, fault in pairs:
        row, faults = try_pair(doubles, version, fault, expected)
        rows.append(row)
        all_faults += [f"CUPTI {version}, {fault.name}: {text}" for text in faults]

    over_doubles.print_table(("CUPTI", "fault", "records read", "without a row", "counted as lost", "result"), rows)
    print(*all_faults, f"{sum(row[-1] == 'ok' for row in rows)} of {len(rows)} pairs as they should be", sep="\n")
    return 1 if all_faults or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
