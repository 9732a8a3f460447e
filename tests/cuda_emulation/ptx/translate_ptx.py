#!/usr/bin/env python3
"""Turns the PTX that nvcc made into C++: one function a kernel, which runs as one thread of tests/cuda_emulation/emulator.h.

It knows how PTX is written, not what it means: `fma.rn.f32 %f3, %f1, %f2, 0f3F800000;` becomes
`set(f_3, fma_rn<f32>(f_1, f_2, float_of(0x3F800000u)));`, and instructions.h has fma_rn(). One that is not there does not compile.

usage: translate_ptx.py SOURCE.ptx OUTPUT.cpp
"""
import dataclasses
import os
import re
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import translation
from translation import TranslationError

TYPES = {"pred", "bf16", *(letter + bits for letter, sizes in {"b": (8, 16, 32, 64), "u": (8, 16, 32, 64), "s": (8, 16, 32, 64),
                                                               "f": (32, 64)}.items() for bits in map(str, sizes))}
VECTORS = {"v2", "v4"}
KEYWORDS = {"and", "or", "xor", "not"}  # C++ has these words
BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}
# CUDA's own limit, for kernels without a bound.
MOST_THREADS = 1024
NOT_INSTRUCTIONS = (".pragma", ".loc", ".file", ".local")

KERNEL = re.compile(r"\.entry (\w+)\(([^)]*)\)([^{]*)\{\n(.*?)\n\}", re.S)
PARAMETER = re.compile(r"\.param (?:\.align \d+ )?\.[a-z](\d+) (\w+)(?:\[(\d+)\])?")
REGISTERS = re.compile(r"\.reg \.(\w+)\s+%(\w+)<(\d+)>;")
SHARED = re.compile(r"\.shared \.align (\d+) \.b8 (\w+)\[(\d*)\];")
MOST = re.compile(r"\.(?:max|req)ntid (\d+)(?:, (\d+))?(?:, (\d+))?")
GUARD = re.compile(r"@(!?)(%\w+)\s+(.*)", re.S)
SPECIAL = re.compile(r"%(tid|ntid|ctaid|nctaid)\.([xyz])|%(globaltimer)")


@dataclasses.dataclass
class Names:
    """The C++ of a kernel's parameters, arrays and labels: PTX has names of hundreds of letters."""
    variables: dict
    labels: dict = dataclasses.field(default_factory=dict)

    def label(self, name):
        return self.labels.setdefault(name, f"label_{len(self.labels)}")


def operand(text, names):
    text = text.strip()
    if match := SPECIAL.fullmatch(text):
        return f"{match[1]}().{match[2]}" if match[1] else f"{match[3]}()"
    if match := re.fullmatch(r"%([a-z]+)(\d+)", text):
        return f"{match[1]}_{match[2]}"
    if match := re.fullmatch(r"0[fF]([0-9A-Fa-f]{8})", text):
        return f"float_of(0x{match[1]}u)"
    if re.fullmatch(r"-?\d+", text):
        return f"static_cast<int64_t>({int(text) % 2**64}u)"
    if text in names.variables:
        return names.variables[text]
    raise TranslationError(f"what is {text}?")


def address(text, names):
    """The C++ of [base] or [base+offset]."""
    match = re.fullmatch(r"\[([^\]+]+)(?:\+(-?\d+))?\]", text.strip())
    if not match:
        raise TranslationError(f"what address is {text}?")
    return f"{operand(match[1], names)} + {int(match[2] or 0) % 2**64}u"


def split_arguments(text):
    """The parts of a list at its commas, but not at those in braces."""
    return [part.strip() for part in re.findall(r"(?:\{[^}]*\}|[^,{])+", text) if part.strip()]


def registers(text, names):
    """One, or those of a vector in braces."""
    inner = text[1:-1] if text[0] == "{" and text[-1] == "}" else text
    return ", ".join(operand(each, names) for each in inner.split(","))


def function_of(opcode):
    """`mul.wide.u32` -> `mul_wide<u32>`. The length of a vector is the number of its registers."""
    parts = [part for part in opcode.split(".") if part not in VECTORS]
    name = "_".join(part for part in parts if part not in TYPES)
    name += "_" if name in KEYWORDS else ""
    types = ", ".join(part for part in parts if part in TYPES)
    return f"{name}<{types}>" if types else name


def instruction(text, names):
    guard = ""
    if match := GUARD.fullmatch(text):
        guard, text = f"if ({match[1]}{operand(match[2], names)}) ", match[3]

    opcode, _, rest = text.replace("\t", " ").partition(" ")
    arguments, kind = split_arguments(rest), opcode.split(".")[0]
    if kind == "ret":
        code = "return;"
    elif kind == "bra":
        code = f"goto {names.label(arguments[0])};"
    elif kind == "ld":
        code = f"{function_of(opcode)}({address(arguments[1], names)}, {registers(arguments[0], names)});"
    elif kind == "st":
        code = f"{function_of(opcode)}({address(arguments[0], names)}, {registers(arguments[1], names)});"
    elif kind == "bar":
        code = f"{function_of(opcode)}({', '.join(operand(each, names) for each in arguments)});"
    else:
        # shfl's second result, whether the lane it read from exists, is always true here: the emulator stops where it does not.
        results = arguments[0].split("|")
        if len(results) > 1 and kind != "shfl":
            raise TranslationError(f"two results of {opcode}?")
        inputs = ", ".join(registers(each, names) for each in arguments[1:])
        code = f"set({operand(results[0], names)}, {function_of(opcode)}({inputs}));"
        code += "".join(f" {operand(each, names)} = true;" for each in results[1:])
    return guard + (f"{{ {code} }}" if guard else code)


def statements(body):
    """The labels and instructions of a kernel's body, without what only assemblers read."""
    body = re.sub(r"//[^\n]*", "", body)
    body = re.sub(r"^\s*(\$\w+):", r"\1:;", body, flags=re.M)
    for text in body.split(";"):
        # nvcc puts the lines of inline assembler in braces.
        text = text.lstrip("{} \t\n").rstrip()
        if text and not text.startswith((".reg", ".shared", *NOT_INSTRUCTIONS)):
            yield text


class SharedLayout:
    """Where the shared arrays of a kernel lie: its own ones, then the one whose size the launch says."""

    def __init__(self, body, dynamic):
        self.offsets, self.bytes = {}, 0
        for alignment, name, size in SHARED.findall(body):
            self.place(name, int(alignment), int(size))
        for alignment, name in dynamic:
            self.place(name, int(alignment), 0)

    def place(self, name, alignment, size):
        begin = -(-self.bytes // alignment) * alignment
        self.offsets[name] = begin
        self.bytes = begin + size


def kernel(number, match, dynamic):
    """The function of a kernel and its row in the table."""
    mangled, parameter_list, directives, body = match.groups()
    parameters = PARAMETER.findall(parameter_list)
    if len(parameters) != parameter_list.count(".param"):
        raise TranslationError(f"a parameter of {mangled} is written in another way")
    layout = SharedLayout(body, dynamic)
    names = Names({name: f"parameter_{i}" for i, (_, name, _) in enumerate(parameters)})
    names.variables |= {name: f"static_cast<uint64_t>({offset})" for name, offset in layout.offsets.items()}

    lines = [f"// {mangled}", f"void kernel_{number}(void* const* parameters) {{"]
    lines += [f"  auto const parameter_{i} = reinterpret_cast<uint64_t>(parameters[{i}]);" for i in range(len(parameters))]
    for kind, letter, count in REGISTERS.findall(body):
        lines.append(f"  Register<{kind}> " + ", ".join(f"{letter}_{i} = {{}}" for i in range(int(count))) + ";")
    for text in statements(body):
        lines.append(f"{names.label(text[:-1])}:;" if text.endswith(":") else f"  {instruction(text, names)}")
    lines.append("}")

    sizes = ", ".join(str(int(array or BYTES[bits])) for bits, _, array in parameters)
    bound = MOST.search(directives)
    most = int(bound[1]) * int(bound[2] or 1) * int(bound[3] or 1) if bound else MOST_THREADS
    return lines, f'    {{"{mangled}", kernel_{number}, {{{sizes}}}, {most}, {layout.bytes}}},'


def translate(text, _path):
    dynamic = [(alignment, name) for alignment, name, size in SHARED.findall(text) if not size]
    functions, rows = [], []
    for number, match in enumerate(KERNEL.finditer(text)):
        lines, row = kernel(number, match, dynamic)
        functions += lines
        rows.append(row)
    if len(rows) != text.count(".entry "):
        raise TranslationError(f"{text.count('.entry ')} kernels, {len(rows)} of them are written as expected")

    return "\n".join(['#include "tests/cuda_emulation/ptx/instructions.h"', '#include "tests/cuda_emulation/ptx/launches.h"',
                      "namespace {", "using namespace stepscope::cuda_emulation::ptx;", *functions,
                      "bool const is_added = add_kernels({", *rows, "});", "}", ""])


if __name__ == "__main__":
    translation.main(translate, __doc__)
