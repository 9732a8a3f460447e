#!/usr/bin/env python3
"""Looks whether the emulation finds faults: puts one at a time into a copy of a kernel source and expects a test to fail.

Each mutant is a library with one translated source, which the test program loads in front of its own kernels (LD_PRELOAD). The
unchanged sources are run the same way and must pass. A mutant whose text is no longer in the source is an error: it then proves nothing.

With --nvcc it translates the PTX that nvcc makes of the mutant, for the test program of ptx/.

usage: mutants.py --tests PROGRAM --compiler CXX --work FOLDER [--nvcc NVCC] [--jobs 2] [NAME…]
       all mutants, or those whose name has a NAME
"""
import argparse
import dataclasses
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
import translate
import translation

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(HERE, "ptx"))
import translate_ptx

KERNELS = "workloads/backend/cuda"
ELEMENTS, LAYERS = f"{KERNELS}/element_kernels.cu", f"{KERNELS}/layer_kernels.cu"
TIMEOUT_S = 240


@dataclasses.dataclass(frozen=True)
class Mutant:
    """In `source` every `old` (there are `count` of them) becomes `new`; the tests that `group` finds must fail."""
    name: str
    source: str
    old: str
    new: str
    group: str
    count: int = 1


BARRIER = "  __syncthreads();\n"
MUTANTS = (
    Mutant("no barrier before a block's sum is written", ELEMENTS, "    __syncthreads();  // what an earlier", "    // what an earlier",
           "TransformerRows"),
    Mutant("no barrier before a block's sum is read", ELEMENTS, "kWarp] = value;\n    __syncthreads();", "kWarp] = value;", "TransformerRows"),
    Mutant("shuffle of half a warp", ELEMENTS, "__shfl_xor_sync(kAllLanes,", "__shfl_xor_sync(0x0000'FFFFU,", "LossesAndBias"),
    Mutant("one element too many", ELEMENTS, "i < last; i += stride", "i <= last; i += stride", "ElementWise"),
    Mutant("long arrays do not go round the grid", ELEMENTS, "i < last; i += stride", "i < last; i += last", "ElementWise"),
    Mutant("no barrier before the columns' lanes are added", ELEMENTS, f"total.value[n];\n{BARRIER}", "total.value[n];\n", "ColumnSums"),
    Mutant("lanes without a column leave before the barrier", ELEMENTS, "  if (column < columns) {\n",
           "  if (column >= columns) return;\n  if (column < columns) {\n", "ColumnSums"),
    Mutant("the last share of the rows ends early", ELEMENTS, "begin + share : rows;", "begin + share : rows - 1;", "ColumnSums"),
    Mutant("blocks with more threads than there can be", ELEMENTS, "kMostThreads = 1024", "kMostThreads = 2048", "LossesAndBias"),
    Mutant("scratch memory is taken for larger than it is", ELEMENTS, "std::min({kWantedBlocks / wide, rows / kFewestRows, fitting})",
           "std::min(kWantedBlocks / wide, rows / kFewestRows)", "ColumnSums"),
    Mutant("no barrier before a window is added", LAYERS, f"{BARRIER}  if (!exists) return;\n", "  if (!exists) return;\n",
           "LocalResponse"),
    Mutant("lanes without a pixel leave before the barrier", LAYERS, f"{BARRIER}  if (!exists) return;\n",
           f"  if (!exists) return;\n{BARRIER}", "LocalResponse"),
    Mutant("all pixels of a block share one row of memory", LAYERS, "terms + threadIdx.y * s.channels", "terms", "LocalResponse", 2),
    Mutant("a window ends one channel early", LAYERS, "min(channels - 1, c + radius)", "min(channels - 1, c + radius - 1)", "LocalResponse"),
    Mutant("the larger half of the padding in front", LAYERS, "+ window - height) / 2)", "+ window - height + 1) / 2)", "MaxPool"),
    Mutant("vectors where rows are odd and arrays aligned", LAYERS, "columns % 4 == 0 && aligned(x)", "aligned(x)", "/Bias"),
    Mutant("vectors where arrays are not aligned", LAYERS, " && aligned(x) && aligned(bias) && aligned(y)", "", "/Bias"),
    Mutant("bfloat16 is cut off, not rounded", LAYERS, "__bfloat16_as_ushort(__float2bfloat16_rn(x[i]))",
           "static_cast<Bf16>(*reinterpret_cast<uint32_t const*>(x + i) >> 16U)", "Conversions"),
    Mutant("the last source of a mean is left out", LAYERS, "m < arrays.sources", "m + 1 < arrays.sources", "Means"),
    Mutant("a slow device is as fast as the others", LAYERS, "end + (end - *begin_ns)", "end", "ASlowDevice"),
)


def mutated(mutant):
    with open(os.path.join(ROOT, mutant.source), encoding="utf-8") as file:
        text = file.read()
    if text.count(mutant.old) != mutant.count:
        raise translation.TranslationError(f"{mutant.source} has {text.count(mutant.old)} times, not {mutant.count}: {mutant.old!r}. "
                                         "Change the mutant with the source")
    return text.replace(mutant.old, mutant.new)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def compile_library(options, text, source, name):
    """A library with one translated source."""
    path, objects = os.path.join(options.work, name), []
    if options.nvcc:
        write(f"{path}.cu", text)
        subprocess.run([options.nvcc, "-std=c++20", "-O3", "-c", "-I", ROOT, "-diag-suppress", "20014", "-Xcompiler", "-fPIC",
                        "-gencode=arch=compute_90,code=[sm_90,compute_90]", "--keep", "--keep-dir", options.work, "-o", f"{path}.o",
                        f"{path}.cu"], check=True)
        with open(f"{path}.ptx", encoding="utf-8") as file:
            write(f"{path}.cpp", translate_ptx.translate(file.read(), source))
        objects = [f"{path}.o"]
    else:
        write(f"{path}.cpp", translate.translate(text, source))

    subprocess.run([options.compiler, *options.flags.split(), "-std=c++20", "-O0", "-w", "-fPIC", "-shared", "-I", ROOT, "-I",
                    os.path.join(HERE, "toolkit"), f"{path}.cpp", *objects, "-o", f"{path}.so"], check=True)
    return f"{path}.so"


def run_tests(options, library, group):
    """(True where the tests pass, False where one fails, None where they do not end or none ran; what the first failure says)"""
    environment = {**os.environ, "LD_PRELOAD": library, "OMP_NUM_THREADS": "1"}
    command = [options.tests, f"--gtest_filter=Cuda*{group}*", "--gtest_fail_fast"]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return None, f"no end after {TIMEOUT_S} s"
    lines = [line for line in done.stdout.split("\n") if re.search(" of |difference", line) and not line.startswith("[")]
    first = lines[0].strip() if lines else done.stderr.strip()[-200:]
    return (done.returncode == 0 if "[ RUN " in done.stdout else None), first


def judge(options, number, mutant):
    """(True where the mutant was caught, a line about it)"""
    try:
        library = compile_library(options, mutated(mutant), mutant.source, f"mutant_{number}")
    except (translation.TranslationError, subprocess.CalledProcessError) as error:
        return False, f"ERROR     {mutant.name}: {error}"
    passed, first = run_tests(options, library, mutant.group)
    verdict = {True: "SURVIVED", False: "caught", None: "ERROR"}[passed]
    return passed is False, f"{verdict:<9} {mutant.name}: {first}"


def judge_unchanged(options, source):
    """The same for a source as it is, which must pass."""
    with open(os.path.join(ROOT, source), encoding="utf-8") as file:
        library = compile_library(options, file.read(), source, os.path.basename(source).replace(".cu", "_unchanged"))
    passed, first = run_tests(options, library, "MaxPool" if source == LAYERS else "AttentionHeads")
    return bool(passed), f"passed    {source} as it is" if passed else f"FAILED    {source} as it is: {first}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", required=True)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--flags", default="", help="of the compiler, as the kernels of the tests are compiled")
    parser.add_argument("--work", required=True)
    parser.add_argument("--nvcc", help="makes the PTX that is translated; else the source itself is")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.tests, options.work = os.path.abspath(options.tests), os.path.abspath(options.work)
    os.makedirs(options.work, exist_ok=True)

    for mutant in MUTANTS:
        mutated(mutant)
    chosen = [each for each in enumerate(MUTANTS) if not options.names or any(name in each[1].name for name in options.names)]
    with ThreadPoolExecutor(options.jobs) as pool:
        unchanged = pool.map(lambda source: judge_unchanged(options, source), (ELEMENTS, LAYERS))
        mutants = pool.map(lambda each: judge(options, *each), chosen)
        good = [True]
        for is_good, line in [*unchanged, *mutants]:
            good.append(is_good)
            print(line, flush=True)

    caught = sum(good[3:])
    print(f"{caught} of {len(chosen)} mutants caught")
    sys.exit(0 if all(good) and chosen else 1)


if __name__ == "__main__":
    main()
