#!/usr/bin/env python3
"""Checks what the compiler does not: which layer may include which (docs/design/ARCHITECTURE.md), that includes are spelled from the
repository's root, that vendors' headers stay in their folders, that files stay short and #if stays rare.

usage: check_layers.py [ROOT]           exit status 1 and one line a fault when there are any
       check_layers.py --self-test      plants each fault in a made tree and looks whether it is found
"""
import os
import re
import sys
import tempfile

# Layer = folder; the most specific folder that a file is in decides. What it may include besides itself.
LAYERS = {
    "trace/base": [],
    "trace/model": ["trace/base"],
    "trace/file": ["trace/base", "trace/model"],
    "trace/synth": ["trace/base", "trace/model", "trace/file"],
    "trace/import": ["trace/base", "trace/model", "trace/file"],
    "trace/export": ["trace/base", "trace/model", "trace/file"],
    "tracer/api": [],
    "tracer": ["trace/base", "trace/model", "trace/file", "tracer/api"],
    "workloads": ["tracer/api", "trace/base"],
    "analyzer": ["trace/model", "trace/base"],
    "run_loading": ["analyzer", "trace/import", "trace/file", "trace/model", "trace/base"],
    "reports": ["analyzer", "trace/model", "trace/base"],
    "query": ["trace", "analyzer", "reports"],
    "gate": ["analyzer", "trace/model", "trace/base"],
    # Words are the reports' (reports/words/wording): the viewer shows the same ones.
    "viewer": ["analyzer", "run_loading", "reports", "trace/import", "trace/file", "trace/model", "trace/base"],
    "doctor": ["trace/base", "tracer"],
    "selftest": ["doctor", "trace", "tracer", "workloads", "analyzer"],
    "cli": ["trace", "tracer", "doctor", "workloads", "selftest", "analyzer", "run_loading", "reports", "query", "gate"],
}
# Folders outside the layers that may include everything.
FREE = ["tests", "bench", "examples"]

# <header> prefixes → folders in which they may be included.
VENDOR_HEADERS = {
    r"nvtx3/": ["tracer", "tests", "bench", "examples"],
    r"(cupti|generated_cuda|nvperf)": ["tracer/cupti", "tests/gpu", "tests/unit/tracer", "bench"],
    r"nvml\.h": ["tracer/nvml", "workloads/backend/cuda", "tests/gpu"],
    r"nccl": ["tracer/nccl", "workloads/backend/cuda", "tests/gpu"],
    r"(cuda|cudnn|cublas|curand|device_launch_parameters)": ["workloads/backend/cuda", "tracer/cupti", "selftest/cuda_probe", "tests/gpu", "bench"],
    r"(dnnl|oneapi/dnnl)": ["workloads/backend/host", "tests", "bench"],
    r"(imgui|imstb|GLFW/|GL/|backends/imgui)": ["viewer", "tests", "bench"],
    r"mpi\.h": ["workloads/processes/mpi"],
    r"stb_": ["viewer", "workloads/data", "tests", "bench"],
    r"sqlite3": ["trace/import", "trace/export", "query", "tests", "bench"],
    r"toml\+\+/": ["gate", "tests"],
    r"simdjson": ["trace/import", "tests", "bench"],
    r"CLI/": ["cli", "workloads", "viewer/app"],
}

MAX_HEADER_LINES = 300
MAX_SOURCE_LINES = 600
MAX_CONDITIONALS_PER_1000_LINES = 3
CONDITIONALS_ALLOWED_IN = ("cuda", "cupti")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef)\b")
EXTENSIONS = (".h", ".cpp", ".cu", ".cuh", ".c")


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def layer_of(path):
    found = [folder for folder in LAYERS if within(path, folder)]
    return max(found, key=len) if found else None


def source_files(root):
    for top in sorted({folder.split("/")[0] for folder in LAYERS} | set(FREE)):
        for folder, names, files in os.walk(os.path.join(root, top)):
            names[:] = sorted(name for name in names if name not in ("node_modules", "build", "data", "corpus"))
            for name in sorted(files):
                if name.endswith(EXTENSIONS):
                    yield os.path.relpath(os.path.join(folder, name), root)


def check_include(root, path, number, quote, header):
    here = f"{path}:{number}"
    if quote == '"':
        if header.startswith(".") or not os.path.exists(os.path.join(root, header)):
            return [f'{here}: "{header}" is not spelled from the root (or is not ours: then use <>)']
        target, layer = layer_of(header), layer_of(path)
        if layer is None:
            return []
        if target is None:
            return [f'{here}: "{header}" is in no layer, {layer} may not include it']
        allowed = [layer] + LAYERS[layer]
        # "trace" as an allowed folder covers its layers; tracer's own folders cover each other and the other way round.
        if target != layer and not any(within(target, folder) and folder != layer for folder in allowed):
            return [f'{here}: {layer} may not include "{header}" of {target} (it may include: {", ".join(LAYERS[layer]) or "nothing"})']
        return []
    for pattern, folders in VENDOR_HEADERS.items():
        if re.match(pattern, header):
            if not any(within(path, folder) for folder in folders):
                return [f"{here}: <{header}> may be included in {', '.join(folders)} only"]
            return []
    return []


def check(root):
    faults = []
    lines_counted = conditionals = 0
    for path in source_files(root):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
        limit = MAX_HEADER_LINES if path.endswith((".h", ".cuh")) else MAX_SOURCE_LINES
        if len(lines) > limit:
            faults.append(f"{path}: {len(lines)} lines, the limit is {limit}: split it by question")
        if layer_of(path) and not any(part in CONDITIONALS_ALLOWED_IN for part in path.split("/")):
            lines_counted += len(lines)
            conditionals += sum(1 for line in lines if CONDITIONAL.match(line))
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if match:
                faults += check_include(root, path, number, match.group(1), match.group(2))
    # Under 1,000 lines the first three are free.
    if conditionals > MAX_CONDITIONALS_PER_1000_LINES * max(1.0, lines_counted / 1000):
        faults.append(f"{conditionals} #if in {lines_counted} lines outside {'/ and '.join(CONDITIONALS_ALLOWED_IN)}/: the limit is "
                      f"{MAX_CONDITIONALS_PER_1000_LINES} per 1,000; choose by folder in CMake")
    return faults


def self_test():
    good = {"trace/base/bytes.h": "#pragma once\n", "trace/model/trace.h": '#include "trace/base/bytes.h"\n',
            "trace/file/reader.h": '#include "trace/model/trace.h"\n', "tracer/api/annotate.h": "#include <nvtx3/nvToolsExt.h>\n",
            "tracer/core/session.cpp": '#include "tracer/api/annotate.h"\n#include "trace/file/reader.h"\n',
            "tracer/cupti/decode.cpp": "#if 1\n#if 2\n#if 3\n#if 4\n#if 5\n#include <cupti.h>\n",
            "analyzer/metrics/steps/steps.h": '#include "trace/model/trace.h"\n', "cli/main.cpp": '#include "trace/file/reader.h"\n',
            "tracer/core/session.h": "#pragma once\n", "viewer/app.h": "#pragma once\n",
            "tests/unit/a_test.cpp": '#include "trace/file/reader.h"\n#include <dnnl.hpp>\n'}
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
        "a long header": ("trace/base/long.h", "\n" * 301, "the limit is 300"),
        "a long source": ("trace/base/long.cpp", "\n" * 601, "the limit is 600"),
        "too many #if": ("trace/base/b.cpp", "#ifdef A\n#endif\n" * 4, "4 #if in"),
    }
    failures = []
    for name, (path, text, message) in [("a good tree", (None, None, None)), *bad.items()]:
        with tempfile.TemporaryDirectory() as root:
            files = dict(good)
            if path:
                files[path] = text
            for file, content in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, file)), exist_ok=True)
                with open(os.path.join(root, file), "w", encoding="utf-8") as out:
                    out.write(content)
            faults = check(root)
        if path is None:
            if faults:
                failures.append(f"{name}: {faults}")
        elif len(faults) != 1 or path not in faults[0] and "#if" not in faults[0] or message not in faults[0]:
            failures.append(f"{name}: expected one fault in {path}, found {faults}")
    for failure in failures:
        print(f"self-test: {failure}")
    print(f"self-test: {len(bad) + 1 - len(failures)} of {len(bad) + 1} cases as expected")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = arguments[0] if arguments else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    faults = check(root)
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
