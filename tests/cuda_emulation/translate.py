#!/usr/bin/env python3
"""Turns a .cu into C++ for tests/cuda_emulation/emulator.h. It rewrites only what no C++ compiler reads:

  name<<<grid, block, shared, stream>>>(arguments)   a call of launch(), with the kernel's __launch_bounds__
  __shared__ T name[N];                              a reference to an array of the block
  extern __shared__ T name[];                        a pointer to the block's dynamic shared memory
  asm volatile("mov.u64 %0, %%globaltimer;" …)       a reading of the emulated clock

Everything else stays as it is, line by line; #line names the source in messages and debuggers. What it does not know, such as
another asm, is an error.

usage: translate.py SOURCE.cu OUTPUT.cpp
"""
import re

import translation
from translation import TranslationError

NAMESPACE = "::stepscope::cuda_emulation::"
LAUNCH = re.compile(r"\b(\w+(?:<[^<>;(){}]*>)?)\s*<<<")
BOUNDS = re.compile(r"__launch_bounds__\(([^()]*)\)\s+(\w+)\s*\(")
DYNAMIC_SHARED = re.compile(r"\bextern __shared__ (\w+) (\w+)\[\];")
SHARED = re.compile(r"\b__shared__ (\w+) (\w+)((?:\[[^\]]*\])+);")
CLOCK = re.compile(r'asm volatile\("mov\.u64 %0, %%globaltimer;" : "=l"\((\w+)\)\);')
LEFTOVERS = re.compile(r"<<<|>>>|\basm\b|\b__shared__\b")
# CUDA's own limit, for kernels without __launch_bounds__.
MOST_THREADS = "1024"
PAIRS = {"(": ")", "[": "]", "{": "}"}


def closing(text, at):
    """Where the bracket at `at` is closed."""
    open_brackets = []
    for i in range(at, len(text)):
        if text[i] in PAIRS:
            open_brackets.append(PAIRS[text[i]])
        elif open_brackets and text[i] == open_brackets[-1]:
            open_brackets.pop()
            if not open_brackets:
                return i
    raise TranslationError(f"line {text.count(chr(10), 0, at) + 1}: a bracket is never closed")


def split_arguments(text):
    """The parts of a list at its commas, but not at those inside of brackets."""
    parts, depth, begin = [], 0, 0
    for i, letter in enumerate(text):
        if letter in PAIRS:
            depth += 1
        elif letter in PAIRS.values():
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    return [part.strip() for part in parts + [text[begin:]]]


def translated_launches(text):
    bounds = {name: bound for bound, name in BOUNDS.findall(text)}
    parts, at = [], 0
    for match in LAUNCH.finditer(text):
        end = text.index(">>>", match.end())
        configuration = split_arguments(text[match.end():end])
        if not 2 <= len(configuration) <= 4:
            raise TranslationError(f"a launch of {match[1]} with {len(configuration)} arguments between <<< and >>>")
        grid, block, shared, stream = configuration + ["0", "nullptr"][len(configuration) - 2:]
        call_end = closing(text, text.index("(", end)) + 1

        name = match[1].split("<")[0]
        kernel = f'{{"{name}", {bounds.get(name, MOST_THREADS)}}}'
        call = f"{match[1]}{text[end + 3:call_end].strip()}"
        launch = f"{NAMESPACE}launch({{{kernel}, dim3({grid}), dim3({block}), {shared}}}, {stream}, [=] {{ {call}; }})"
        missing_lines = text.count("\n", match.start(), call_end) - launch.count("\n")
        parts += [text[at:match.start()], launch, "\n" * missing_lines]
        at = call_end
    return "".join(parts) + text[at:]


def translated_shared(text):
    text = DYNAMIC_SHARED.sub(rf'\1* const \2 = {NAMESPACE}dynamic_shared<\1>("\2");', text)
    numbers = iter(range(len(text)))
    return SHARED.sub(lambda found: f'auto& {found[2]} = {NAMESPACE}shared_array<{found[1]}{found[3]}>({next(numbers)}, "{found[2]}");', text)


def translate(text, path):
    """The C++ of a .cu, whose path is for messages."""
    text = translated_shared(translated_launches(text))
    text = CLOCK.sub(rf"\1 = {NAMESPACE}read_device_clock();", text)

    code = re.sub(r"//[^\n]*", "", text)
    if left := LEFTOVERS.search(code):
        raise TranslationError(f"{path}:{code.count(chr(10), 0, left.start()) + 1}: the emulation does not know this {left[0]}")
    return f'#include "tests/cuda_emulation/device_code.h"\n#line 1 "{path}"\n{text}'


if __name__ == "__main__":
    translation.main(translate, __doc__)
