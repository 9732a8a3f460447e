"""The commands that both programs run for one trace, for a pair of traces and for a series of runs.

A command is a name and words. INPUT files are absolute paths; every output has a relative name, so that neither program sees a path that
the other does not.
"""

import dataclasses
import re
import subprocess

# Every number that a budget can name, each on the side of its limit that a real trace is not on.
BUDGETS = """[default]
step_time_ms = "<= 12"
step_p95_ms = "<= 12"
compute_share = [">= 0.5", "< 0.99"]
exposed_comm_share = "<= 10 %"
exposed_late_ms = "<= 0.1"
exposed_copy_ms = "<= 0.1"
idle_share = "<= 10 %"
idle_input_ms = "<= 0.1"
idle_sync_share = "<= 1 %"
idle_allocation_ms = "<= 0.1"
idle_dependency_ms = "<= 0.1"
idle_peer_ms = "<= 0.1"
idle_graph_ms = "<= 0.1"
idle_launch_starved_ms = "<= 0.1"
idle_launch_latency_ms = "<= 0.1"
idle_profiler_ms = "<= 0.1"
idle_unexplained_ms = "<= 0.1"
peak_memory_gb = "<= 1"
peak_reserved_gib = "<= 1"
kernel_calls = "<= 100"
quality = ">= 90"
"""


@dataclasses.dataclass(frozen=True)
class Command:
    name: str
    words: tuple


def tables_of(program):
    """Each table of `stepscope query` with its columns, from the list that the program prints."""
    listing = subprocess.run([program, "query", "--tables"], check=True, capture_output=True, text=True).stdout
    tables = {}
    for line in listing.splitlines():
        if table := re.match(r"(\w+):", line):
            columns = tables[table[1]] = []
        elif column := re.match(r" +(\w+) +(?:integer|text|real)\b", line):
            columns.append(column[1])
    return tables


def window_of(program, trace):
    """First and last step of a trace, and its length in ns; None for what it does not have."""
    sql = ("SELECT (SELECT min(step) FROM steps), (SELECT max(step) FROM steps), "
           "(SELECT max(end_ns) - min(start_ns) FROM events)")
    done = subprocess.run([program, "query", trace, sql, "--format", "csv"], capture_output=True, text=True)
    values = done.stdout.splitlines()[-1].split(",") if done.returncode == 0 and done.stdout else ["", "", ""]
    return tuple(int(value) if re.fullmatch(r"-?\d+", value) else None for value in values)


def without_trace():
    yield Command("tables", ("query", "--tables"))
    yield Command("version", ("--version",))


def of_trace(trace, tables, window):
    """Everything that one trace can be turned into."""
    first, last, length = window
    yield Command("analyze text", ("analyze", trace))
    yield Command("analyze JSON", ("analyze", trace, "--json"))
    yield Command("analyze JSON streamed", ("analyze", trace, "--json", "--stream"))
    yield Command("analyze Markdown", ("analyze", trace, "--markdown"))
    yield Command("analyze OpenMetrics", ("analyze", trace, "--openmetrics"))
    yield Command("analyze rank 0", ("analyze", trace, "--json", "--rank", "0"))

    yield Command("whatif text", ("whatif", trace))
    yield Command("whatif JSON", ("whatif", trace, "--json", "--change", "class:compute=/2", "--change", "overlap"))
    yield Command("whatif Markdown", ("whatif", trace, "--markdown", "--change", "launch=0", "--change", "class:compute=*2", "--together"))

    yield Command("info", ("info", trace))
    yield Command("info JSON", ("info", trace, "--json"))
    yield Command("doctor", ("doctor", trace))
    yield Command("doctor JSON", ("doctor", trace, "--json"))
    yield Command("report", ("report", trace, "-o", "report.html"))
    yield Command("report zh", ("report", trace, "-o", "report.html", "--lang", "zh"))

    yield Command("import", ("import", trace, "-o", "run"))
    yield Command("export SQLite", ("export", trace, "-o", "out.sqlite"))
    yield Command("export Perfetto", ("export", trace, "-o", "out.pftrace"))
    yield Command("export Chrome", ("export", trace, "-o", "out.json"))
    yield Command("export Chrome ranks", ("export", trace, "--format", "chrome", "-o", "ranks/"))
    yield Command("export CSV", ("export", trace, "-o", "out.csv"))
    yield Command("export CSV tables", ("export", trace, "--format", "csv", "-o", "tables/"))

    yield Command("slice rank 0 anonymized", ("slice", trace, "-o", "run", "--rank", "0", "--anonymize"))
    if length is not None:
        window = f"{length // 4}ns:{length // 2}ns"
        yield Command("slice time", ("slice", trace, "-o", "run", "--time", window))
        yield Command("export Perfetto time", ("export", trace, "-o", "out.pftrace", "--time", window))
    if first is not None:
        steps = f"{min(first + 1, last)}:{max(first, last - 1)}" if last > first + 1 else f"{first}:{last}"
        yield Command("slice steps", ("slice", trace, "-o", "run", "--steps", steps))
        yield Command("analyze steps", ("analyze", trace, "--json", "--steps", steps))

    for table, columns in tables.items():
        yield Command(f"query {table}", ("query", trace, f"SELECT {', '.join(columns)} FROM {table}", "--format", "csv"))
    yield Command("query text", ("query", trace, "SELECT * FROM findings"))
    yield Command("query JSON", ("query", trace, "SELECT * FROM device_time", "--format", "json"))

    yield Command("check budget", ("check", trace, "--budget", "../budgets.toml", *check_files()))
    yield Command("check writes", ("check", trace, "--update-baseline", "base.json", "--append-history", "history.json"))
    yield from of_pair("itself", trace, trace)


def of_pair(name, base, candidate):
    """What two traces are compared with."""
    yield Command(f"compare {name}", ("compare", base, "--vs", candidate, "--markdown", "compare.md"))
    yield Command(f"compare {name} JSON", ("compare", base, "--vs", candidate, "--json"))
    yield Command(f"check {name}", ("check", candidate, "--baseline", base, *check_files()))
    yield Command(f"check {name} GitHub", ("check", candidate, "--baseline", base, "--github"))


def check_files():
    return ("--json-file", "check.json", "--markdown", "check.md", "--junit", "check.xml", "--sarif", "check.sarif")


def of_series(runs):
    """What a scaling series of synthetic runs is turned into."""
    for language in ("en", "zh"):
        yield Command(f"scaling report {language}", ("report", *runs, "--series", "--scaling", "weak", "--samples", "8", "--lang", language,
                                                     "-o", "scaling.html", "--json", "scaling.json", "--markdown", "scaling.md"))
    yield Command("check history", ("check", "--history", *runs))
    yield Command("compare several", ("compare", *runs[:2], "--vs", *runs[2:4], "--json"))
    yield Command("compare paired", ("compare", *runs[:2], "--vs", *runs[2:4], "--paired"))


# Pattern, ranks, steps, fault. Pairs are neighbours here: a healthy run is the base of the faults behind it.
SYNTHETIC = (
    ("dp", 2, 12, "none"), ("dp", 4, 12, "input"), ("dp", 2, 14, "sync"), ("pipeline", 4, 8, "none"), ("pipeline", 8, 6, "slow-pair"),
    ("moe", 4, 10, "none"), ("moe", 8, 6, "slow-group"), ("dp", 3, 12, "host-bound"), ("dp", 4, 12, "straggler"), ("dp", 2, 12, "leak"),
    ("dp", 1, 30, "outliers"), ("dp", 2, 12, "tiny-kernels"), ("pipeline", 4, 8, "late-rank"), ("moe", 4, 8, "imbalance"),
    ("dp", 4, 12, "small-buckets"), ("dp", 2, 12, "pageable-copies"), ("dp", 2, 24, "throttling"), ("dp", 2, 12, "lost-records"),
    ("dp", 4, 12, "missing-ranks"), ("dp", 2, 6, "python-frames"), ("dp", 2, 12, "tensor-cores"), ("dp", 2, 12, "fragmentation"),
    ("dp", 2, 12, "serialized-copies"), ("dp", 4, 12, "slow-link"), ("dp", 4, 12, "no-overlap"), ("dp", 2, 12, "allocation"),
    ("dp", 2, 12, "pressure"), ("dp", 2, 20, "warmup"), ("dp", 2, 12, "small-grids"), ("dp", 2, 12, "serialized-streams"),
    ("dp", 2, 12, "unfused-attention"), ("dp", 2, 12, "misaligned-matrices"), ("dp", 2, 12, "elementwise"), ("dp", 4, 12, "unsized-buckets"))
SERIES_RANKS = (1, 2, 4, 8)


def synthetic_runs(count):
    """Name and options of COUNT runs; beyond the table each row comes again with another seed."""
    for number in range(count):
        pattern, ranks, steps, fault = SYNTHETIC[number % len(SYNTHETIC)]
        seed = 1 + number // len(SYNTHETIC)
        words = ("--pattern", pattern, "--ranks", str(ranks), "--steps", str(steps), "--fault", fault, "--seed", str(seed))
        yield f"synth/{number + 1:02}-{pattern}-{ranks}-{fault}", words


def series_runs():
    """Name and options of the runs of the scaling series."""
    for ranks in SERIES_RANKS:
        yield f"series/{ranks}", ("--ranks", str(ranks), "--steps", "10")
