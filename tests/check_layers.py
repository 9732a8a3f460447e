#!/usr/bin/env python3
"""Checks what the compiler does not: which layer may include which, and that the table of ARCHITECTURE.md says the same; that
includes are spelled from the repository's root, that vendors' headers stay in their folders and #if stays rare; that folders
stay small, and that the folders of the viewer and of the analyzer do not include each other in a circle.

usage: check_layers.py [ROOT]           exit status 1 and one line a fault that tests/ratchets/folders.txt does not allow
       check_layers.py --all [PATH…]    every fault, in these files and folders only
       check_layers.py --shrink         writes the smaller counts of a tree with fewer faults
       check_layers.py --create         writes the ratchet for the first time
       check_layers.py --self-test      plants each fault in a made tree and looks whether it is found
"""
import os
import re
import sys
from collections import Counter, defaultdict, deque

sys.dont_write_bytecode = True
from guards import ratchet, tree
from guards.ratchet import Fault
from guards.tree import within

# Layer = folder; the most specific folder that a file is in decides. What it may include besides itself.
LAYERS = {
    "trace/base": [],
    "trace/model": ["trace/base"],
    "trace/columns": ["trace/base", "trace/model"],
    "trace/file": ["trace/base", "trace/model"],
    "trace/stream": ["trace/base", "trace/model", "trace/file"],
    "trace/synth": ["trace/base", "trace/model", "trace/file"],
    "trace/import": ["trace/base", "trace/model", "trace/file", "trace/stream"],
    "trace/export": ["trace/base", "trace/model", "trace/columns", "trace/file"],
    "tracer/api": [],
    "tracer": ["trace/base", "trace/model", "trace/file", "trace/stream", "tracer/api"],
    "mpi": ["trace/base"],
    "workloads": ["tracer/api", "mpi", "trace/base"],
    "analyzer": ["trace/model", "trace/base", "trace/stream"],
    "run_loading": ["analyzer", "mpi", "trace/stream", "trace/import", "trace/file", "trace/model", "trace/base"],
    "reports": ["analyzer", "tune", "trace/model", "trace/base", "trace/stream"],
    "query": ["trace", "analyzer", "reports"],
    "agent": ["query", "run_loading", "reports", "analyzer", "trace/import", "trace/model", "trace/base"],
    "gate": ["analyzer", "trace/model", "trace/base"],
    "tune": ["gate", "analyzer", "trace/base"],
    # Words are the reports' (reports/wording): the viewer shows the same ones.
    "viewer": ["analyzer", "run_loading", "reports", "trace/import", "trace/file", "trace/model", "trace/base"],
    # Names of NVIDIA's functions are the workloads' (backend/vendor_functions.h): doctor asks for the same ones.
    "doctor": ["trace/base", "tracer", "workloads"],
    # The Python package: what `cli` is for people at a terminal.
    "python": ["query", "gate", "run_loading", "reports", "analyzer", "trace/import", "trace/model", "trace/base", "tracer/api"],
    "selftest": ["doctor", "trace", "tracer", "workloads", "analyzer"],
    "cli": ["trace", "tracer", "doctor", "mpi", "workloads", "selftest", "analyzer", "run_loading", "reports", "query", "agent", "gate", "tune"],
}
# Folders outside the layers that may include everything.
FREE = ["tests", "bench", "examples"]

# <header> prefixes → folders in which they may be included.
VENDOR_HEADERS = {
    r"nvtx3/": ["tracer", "tests", "bench", "examples"],
    r"(cupti|generated_cuda|nvperf)": ["tracer/cupti", "tests/gpu", "tests/cuda_doubles", "tests/real_libraries", "tests/unit/tracer", "bench"],
    r"nvml\.h": ["tracer/nvml", "workloads/backend/cuda", "tests/gpu", "tests/cuda_doubles"],
    r"nccl": ["tracer/nccl", "workloads/backend/cuda", "tests/gpu", "tests/cuda_doubles", "tests/real_libraries"],
    r"(cuda|cudnn|cublas|curand|device_launch_parameters)": ["workloads/backend/cuda", "tracer/cupti", "selftest/cuda_probe", "tests/gpu", "tests/cuda_doubles", "tests/real_libraries", "tests/cuda_emulation", "bench"],
    r"(dnnl|oneapi/dnnl)": ["workloads/backend/host", "tests", "bench"],
    r"(imgui|imstb|GLFW/|GL/|backends/imgui)": ["viewer", "tests", "bench"],
    r"mpi\.h": ["mpi/module"],
    r"(pybind11/|Python\.h)": ["python"],
    r"stb_": ["viewer", "workloads/data", "tests", "bench"],
    r"sqlite3": ["trace/import", "trace/export", "query", "tests", "bench"],
    r"toml\+\+/": ["gate", "tests"],
    r"flatbuffers": ["trace/columns"],
    r"simdjson": ["trace/import", "tests", "bench"],
    r"CLI/": ["cli", "workloads", "viewer/app"],
}

PROGRAM = "tests/check_layers.py"
# Source files directly in a folder: as many as a reader takes in at once. A common prefix wants to be a folder.
MAX_FILES = 25
# The folders inside these do not include each other in a circle.
WITHOUT_CYCLES = ["viewer", "analyzer"]
# Where the table of the layers may be.
TABLES = ["docs/design/ARCHITECTURE.md", "docs/ARCHITECTURE.md"]
MAX_CONDITIONALS_PER_1000_LINES = 3
CONDITIONALS_ALLOWED_IN = ("cuda", "cupti")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef)\b")


def layer_of(path):
    found = [folder for folder in LAYERS if within(path, folder)]
    return max(found, key=len) if found else None


def source_files(root):
    return tree.files(root, tree.CPP, {folder.split("/")[0] for folder in LAYERS} | set(FREE))


def include_fault(root, path, quote, header):
    """What is wrong with an #include, or None."""
    if quote == '"':
        if header.startswith(".") or not os.path.exists(os.path.join(root, header)):
            return f'"{header}" is not spelled from the root (or is not ours: then use <>)'
        target, layer = layer_of(header), layer_of(path)
        if layer is None:
            return None
        if target is None:
            return f'"{header}" is in no layer, {layer} may not include it'
        allowed = [layer] + LAYERS[layer]
        # "trace" as an allowed folder covers its layers; tracer's own folders cover each other and the other way round.
        if target != layer and not any(within(target, folder) and folder != layer for folder in allowed):
            return f'{layer} may not include "{header}" of {target} (it may include: {", ".join(LAYERS[layer]) or "nothing"})'
        return None

    for pattern, folders in VENDOR_HEADERS.items():
        if re.match(pattern, header):
            if not any(within(path, folder) for folder in folders):
                return f"<{header}> may be included in {', '.join(folders)} only"
            return None
    return None


def folder_size_faults(paths):
    faults = []
    files_of = defaultdict(list)
    for path in paths:
        files_of[os.path.dirname(path)].append(os.path.basename(path))

    for folder, names in files_of.items():
        if len(names) <= MAX_FILES:
            continue
        prefixes = Counter(re.split(r"[_.]", name)[0] for name in names)
        largest = ", ".join(f"{prefix} ({count})" for prefix, count in prefixes.most_common(4) if count > 2)
        faults.append(Fault(folder, 0, "files", f"{len(names)} source files, the limit is {MAX_FILES}: make folders by question"
                            + (f", prefixes want to be some: {largest}" if largest else ""), len(names)))
    return faults


def shortest_way(edges, begin, end):
    """The folders from `begin` to `end` over the edges {folder: {folder: …}}, or None."""
    before, queue = {begin: None}, deque([begin])
    while queue:
        folder = queue.popleft()
        if folder == end:
            way = []
            while folder is not None:
                way.append(folder)
                folder = before[folder]
            return way[::-1]
        for further in sorted(edges.get(folder, {})):
            if further not in before:
                before[further] = folder
                queue.append(further)
    return None


def cycle_faults(includes):
    """`includes`: (path, line, header). One fault an include of an edge that lies on a cycle; the ratchet lists the edges."""
    edges = defaultdict(lambda: defaultdict(list))
    for path, line, header in includes:
        here, there = os.path.dirname(path), os.path.dirname(header)
        if here != there and any(within(here, top) and within(there, top) for top in WITHOUT_CYCLES):
            edges[here][there].append((path, line, header))

    faults = []
    for here in sorted(edges):
        for there in sorted(edges[here]):
            way = shortest_way(edges, there, here)
            if way is None:
                continue
            back = []
            for first, second in zip(way, way[1:]):
                path, line, header = edges[first][second][0]
                back.append(f'{path}:{line} "{header}"')
            for path, line, header in edges[here][there]:
                faults.append(Fault(path, line, "cycle", f'"{header}" closes a circle of folders, {" → ".join([here, *way])}: back over '
                                    f'{", ".join(back)}', 1, f"{here}->{there}"))
    return faults


def table_faults(root):
    """The rows of ARCHITECTURE.md: | `folder` | what | `folders that it may include`; more in words |."""
    path = next((each for each in TABLES if os.path.exists(os.path.join(root, each))), None)
    if path is None:
        return [Fault(TABLES[0], 0, "table", "is missing: it holds the table of the layers")]
    faults, found = [], set()
    in_table = False
    for number, line in enumerate(tree.read(root, path).split("\n"), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3:
            in_table = False
            continue
        if cells[2] == "may include":
            in_table = True
        row = re.fullmatch(r"`([^`]+)`", cells[0])
        if not in_table or not row:
            continue
        folder = row.group(1).rstrip("/")
        if folder not in LAYERS:
            faults.append(Fault(path, number, "table", f"`{folder}` is no layer of {PROGRAM}"))
            continue
        found.add(folder)
        written = {name.rstrip("/") for name in re.findall(r"`([^`]+)`", cells[2].split(";")[0])}
        if written != set(LAYERS[folder]):
            missing = ", ".join(sorted(set(LAYERS[folder]) - written)) or "nothing"
            extra = ", ".join(sorted(written - set(LAYERS[folder]))) or "nothing"
            faults.append(Fault(path, number, "table", f"the row of `{folder}` is not what {PROGRAM} allows: missing {missing}, too much {extra}"))
    for folder in LAYERS:
        if folder not in found:
            faults.append(Fault(path, 0, "table", f"has no row for the layer `{folder}`"))
    return faults


def check(root):
    """(faults that are never allowed, faults that the ratchet allows for a while)"""
    faults, includes = [], []
    lines_counted = conditionals = 0
    paths = source_files(root)
    for path in paths:
        lines = tree.read(root, path).split("\n")
        if layer_of(path) and not any(part in CONDITIONALS_ALLOWED_IN for part in path.split("/")):
            lines_counted += len(lines)
            conditionals += sum(1 for line in lines if CONDITIONAL.match(line))

        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            if match.group(1) == '"':
                includes.append((path, number, match.group(2)))
            text = include_fault(root, path, match.group(1), match.group(2))
            if text:
                faults.append(Fault(path, number, "include", text))

    # Under 1,000 lines the first three are free.
    if conditionals > MAX_CONDITIONALS_PER_1000_LINES * max(1.0, lines_counted / 1000):
        faults.append(Fault(".", 0, "conditionals", f"{conditionals} #if in {lines_counted} lines outside "
                            f"{'/ and '.join(CONDITIONALS_ALLOWED_IN)}/: the limit is {MAX_CONDITIONALS_PER_1000_LINES} per 1,000; choose by "
                            "folder in CMake"))
    return faults + table_faults(root), folder_size_faults(paths) + cycle_faults(includes)


def made_table(layers):
    rows = [f"| `{folder}` | what | {', '.join(f'`{each}`' for each in allowed) or 'nothing of ours'}; `CLI11` |" for folder, allowed in layers.items()]
    return "# A\n\n| folder | what | may include |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def self_test():
    good = {"trace/base/bytes.h": "#pragma once\n", "trace/model/trace.h": '#include "trace/base/bytes.h"\n',
            "trace/file/reader.h": '#include "trace/model/trace.h"\n', "tracer/api/annotate.h": "#include <nvtx3/nvToolsExt.h>\n",
            "tracer/core/session.cpp": '#include "tracer/api/annotate.h"\n#include "trace/file/reader.h"\n',
            "tracer/cupti/decode.cpp": "#if 1\n#if 2\n#if 3\n#if 4\n#if 5\n#include <cupti.h>\n",
            "analyzer/metrics/steps/steps.h": '#include "trace/model/trace.h"\n', "cli/main.cpp": '#include "trace/file/reader.h"\n',
            "tracer/core/session.h": "#pragma once\n", "viewer/app.h": "#pragma once\n",
            "tests/unit/a_test.cpp": '#include "trace/file/reader.h"\n#include <dnnl.hpp>\n',
            "viewer/panels/a.h": '#include "viewer/scene/a.h"\n', "viewer/scene/a.h": '#include "viewer/scene/b.h"\n',
            "viewer/scene/b.h": "#pragma once\n", "trace/model/build/a.cpp": '#include "trace/model/trace.h"\n',
            "docs/design/ARCHITECTURE.md": made_table(LAYERS), **{f"trace/full/a{number}.h": "\n" for number in range(25)}}
    bad = {
        "a layer to the right": ("trace/model/b.h", '#include "trace/file/reader.h"\n', "trace/model may not include"),
        "the analyzer reads a file": ("analyzer/a.cpp", '#include "trace/file/reader.h"\n', "analyzer may not include"),
        "workloads use the tracer": ("workloads/a.cpp", '  #  include "tracer/core/session.h"\n', "workloads may not include"),
        "workloads use the trace": ("workloads/a.cpp", '#include "trace/model/trace.h"\n', "workloads may not include"),
        "the annotation API needs more than NVTX": ("tracer/api/b.h", '#include "trace/base/bytes.h"\n', "tracer/api may not include"),
        "the viewer from the command line": ("cli/a.cpp", '#include "viewer/app.h"\n', "cli may not include"),
        "relative include": ("trace/model/b.h", '#include "../base/bytes.h"\n', "not spelled from the root"),
        "bare include": ("trace/model/b.h", '#include "trace.h"\n', "not spelled from the root"),
        "tests in a layer": ("trace/model/b.h", '#include "tests/unit/a_test.cpp"\n', "is in no layer"),
        "CUDA outside its folder": ("tracer/core/b.cpp", "#include <cuda_runtime.h>\n", "<cuda_runtime.h> may be included"),
        "CUPTI in the analyzer": ("analyzer/b.cpp", "#include <cupti_activity.h>\n", "<cupti_activity.h> may be included"),
        "NVTX in a workload": ("workloads/b.cpp", "#include <nvtx3/nvToolsExt.h>\n", "<nvtx3/nvToolsExt.h> may be included"),
        "a layer to the right in a folder named data": ("workloads/data/a.cpp", '#include "trace/model/trace.h"\n', "workloads may not include"),
        "a layer to the right in a folder named build": ("trace/model/build/b.cpp", '#include "trace/file/reader.h"\n', "trace/model may not include"),
        "a full folder": ("trace/full/b.h", "\n", "26 source files, the limit is 25"),
        "a circle of two folders": ("viewer/scene/b.h", '\n#include "viewer/panels/a.h"\n',
                                    'viewer/scene/b.h:2: "viewer/panels/a.h" closes a circle of folders, viewer/scene → viewer/panels → viewer/scene: '
                                    'back over viewer/panels/a.h:1 "viewer/scene/a.h"'),
        "a row that allows more": ("docs/design/ARCHITECTURE.md", made_table({**LAYERS, "trace/base": ["trace/model"]}),
                                   ":5: the row of `trace/base` is not what tests/check_layers.py allows: missing nothing, too much trace/model"),
        "a row that allows less": ("docs/design/ARCHITECTURE.md", made_table({**LAYERS, "trace/model": []}), "missing trace/base, too much nothing"),
        "a layer without a row": ("docs/design/ARCHITECTURE.md", made_table({key: value for key, value in LAYERS.items() if key != "gate"}),
                                  "has no row for the layer `gate`"),
        "a row without a layer": ("docs/design/ARCHITECTURE.md", made_table({**LAYERS, "extra": []}), "`extra` is no layer"),
        "too many #if": ("trace/base/b.cpp", "#ifdef A\n#endif\n" * 4, "4 #if in"),
    }
    failures = []
    for name, (path, text, message) in [("a good tree", (None, None, None)), *bad.items()]:
        with tree.made_tree({**good, **({path: text} if path else {})}) as root:
            never, ratcheted = check(root)
        faults = [str(fault) for fault in never + ratcheted]
        place = {"a full folder": "trace/full", "too many #if": "."}.get(name, path)
        if "circle" in name and len(faults) == 2:
            faults = faults[1:]  # the other half of the circle is a fault too
        if path is None and faults or path and (len(faults) != 1 or not faults[0].startswith(place) or message not in faults[0]):
            failures.append(f"{name}: expected one fault in {path}, found {faults}")

    longer = {"viewer/a/x.h": '#include "viewer/b/x.h"\n', "viewer/b/x.h": '#include "viewer/c/x.h"\n', "viewer/c/x.h": '#include "viewer/a/x.h"\n',
              "viewer/d/x.h": '#include "viewer/a/x.h"\n', "analyzer/x.h": ""}
    with tree.made_tree(longer) as root:
        keys = sorted(fault.key for fault in check(root)[1])
    if keys != ["viewer/a->viewer/b", "viewer/b->viewer/c", "viewer/c->viewer/a"]:
        failures.append(f"a circle of three folders: found {keys}")
    full = {f"trace/full/a{number}.h": "\n" for number in range(28)}
    with tree.made_tree({**full, **longer}) as root, tree.made_tree({**dict(list(full.items())[:27]), **longer}) as mended:
        failures += ratchet.self_test(lambda where: check(where)[1], root, "folders", PROGRAM, mended)
    for failure in failures:
        print(f"self-test: {failure}")
    print("check_layers: every planted fault is found" if not failures else f"check_layers: {len(failures)} cases failed")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = own if "--all" in arguments else next((each for each in arguments if not each.startswith("--")), own)
    never, ratcheted = check(root)
    for fault in never:
        print(fault)
    status = ratchet.run(ratcheted, root, "folders", arguments, PROGRAM)
    print(f"{len(never)} faults of layers")
    return 1 if never else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
