#!/usr/bin/env python3
"""A .cu file as host C++ for kernel_engine.h: launches become launch_kernel(…), dynamic shared memory a pointer, the device's timer a
call. Everything else stays as it is. Kernels that are no templates are registered by their address, for nodes of graphs.

usage: translate.py IN.cu OUT.cpp
"""
import re
import sys

NAMESPACE = "::stepscope::cuda_doubles"
PAIRS = {"(": ")", "{": "}", "[": "]"}
LAUNCH = re.compile(r"(\w+(?:<[\w.]+>)?)\s*<<<")
DYNAMIC_SHARED = re.compile(r"extern __shared__ (\w+) (\w+)\[\];")
TIMER = re.compile(r'asm volatile\("mov\.u64 %0, %%globaltimer;" : "=l"\((\w+)\)\);')
# Not where a struct of the runtime has a member of that name.
PLACES = {"threadIdx": "thread", "blockIdx": "block", "blockDim": "block_size", "gridDim": "grid_size"}
PLACE = re.compile(r"(?<![.\w])(" + "|".join(PLACES) + r")\b")
# A kernel is no template where the line above does not say so.
KERNEL = re.compile(r"(?<!>)\n__global__ void (\w+)\(")


def end_of_parentheses(text, begin):
    """Index of the parenthesis that closes the one at `begin`."""
    depth = 0
    for place in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise SystemExit("translate.py: a parenthesis that does not close")


def arguments(text):
    """The parts between the outermost commas."""
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        if letter in PAIRS:
            depth += 1
        elif letter in PAIRS.values():
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[begin:place].strip())
            begin = place + 1
    return parts + [text[begin:].strip()]


def translate_launches(source):
    plain = set(KERNEL.findall(source))
    result, done = [], 0
    for launch in LAUNCH.finditer(source):
        end = source.index(">>>", launch.end())
        shape = arguments(source[launch.end():end])
        grid, block, shared, stream = shape + ["0", "nullptr"][len(shape) - 2:]
        begin_call = source.index("(", end)
        end_call = end_of_parentheses(source, begin_call)
        kernel = launch.group(1)
        name = kernel if "<" in kernel or kernel in plain else kernel + "<>"
        result.append(source[done:launch.start()])
        result.append(f'{NAMESPACE}::launch_kernel("{name}", {{dim3({grid}), dim3({block}), {shared}}}, {stream}, '
                      f"[=] {{ {kernel}{source[begin_call:end_call + 1]}; }})")
        done = end_call + 1
    return "".join(result) + source[done:]


def register_kernels(source):
    """After each kernel's definition, which ends with the first brace in the first column."""
    for kernel in KERNEL.findall(source):
        begin = re.search(r"__global__ void " + kernel + r"\(", source).start()
        line_end = source.index("\n", source.index("{", begin))
        end = line_end if source[line_end - 1] == "}" else source.index("\n}", begin) + 2
        registration = f'\n[[maybe_unused]] bool const is_{kernel}_known = {NAMESPACE}::register_kernel("{kernel}", {kernel});'
        source = source[:end] + registration + source[end:]
    return source


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        source = file.read()
    source = translate_launches(register_kernels(source))
    source = DYNAMIC_SHARED.sub(rf"\1* const \2 = {NAMESPACE}::dynamic_shared<\1>();", source)
    source = PLACE.sub(lambda found: f"{NAMESPACE}::thread_place.{PLACES[found.group(1)]}", source)
    source = TIMER.sub(rf"\1 = {NAMESPACE}::global_timer_ns();", source)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write('#include "tests/cuda_doubles/kernels/kernel_engine.h"\n' + f'#line 1 "{sys.argv[1]}"\n' + source)


if __name__ == "__main__":
    main()
