#!/usr/bin/env python3
"""Counts the places that one touches to add a trace format, a rule, an event kind, a command, a panel, a report section or a collective
operation. CONTRIBUTING.md ("Adding things") has the recipes.

usage: recipes_test.py [ROOT]          exit status 1 and the places of each recipe that costs more than it may
       recipes_test.py --list [ROOT]   the places of every recipe
       recipes_test.py --shrink        writes smaller counts to tests/ratchets/recipes.txt
       recipes_test.py --self-test     plants each fault in a made tree and looks whether it is found

The places are counted for one existing example of each kind: lines of code outside of the example's own files that name it. Lines of one
file that stand together are one place. Comments, #include lines, tests and documents do not count. tests/ratchets/recipes.txt lists the
recipes over their bound, each with the number of places that it has today. The file may only shrink.
"""

import contextlib
import dataclasses
import io
import os
import re
import sys
import tempfile

EXTENSIONS = (".h", ".cpp", ".cu", ".cuh", ".c", ".ts", ".mjs", ".css", ".cmake", "CMakeLists.txt")
NO_CODE = ("tests", "bench", "examples", "docs", "build", "node_modules", "corpus", "data", "scripts")
RATCHET = "tests/ratchets/recipes.txt"
# Lines so near to each other are one place: a row of a list that is broken over lines.
LINES_OF_A_ROW = 2


@dataclasses.dataclass(frozen=True)
class Recipe:
    """`pattern` finds lines that name the example, `own` the paths of its own files ("": it has none). At most `most` places may name it
    in the paths that `within` finds and `outside` does not. Paths are outside when another recipe counts them, or when they give the
    example a meaning."""
    name: str
    example: str
    pattern: str
    own: str
    most: int
    within: str = ""
    outside: str = "^$"
    count_files: bool = False


# Folders that make events, and folders that read a meaning into them. A kind that is only recorded, stored, queried, exported and shown
# needs none of them.
MAKERS = r"^(trace/import|trace/synth|tracer|workloads|selftest)/"
READERS = r"^(analyzer|runs|run_loading|reports|gate)/"
# Puts events into the words of another tool; a kind that it does not know is written with its own fields.
TRANSLATORS = r"^trace/export/chrome/kineto_event\.cpp$"

RECIPES = (
    # doctor names a fault of the plugin that writes such files.
    Recipe("format", "nccl_inspector", r"\b\w*[iI]nspector\w*\b", r"/nccl_inspector/", 1, outside=r"^doctor/"),
    Recipe("rule", "misaligned-matrices", r"misaligned[-_]matrices", r"/misaligned_matrices\.cpp$", 2, outside=r"^(trace/synth|reports)/"),
    Recipe("rule's words", "misaligned-matrices", r"misaligned[-_]matrices", r"/misaligned_matrices\.cpp$", 1, within=r"^reports/"),
    Recipe("event kind", "stream_wait", r'\bStreamWaitDetail\b|\bkStreamWaits?\b|"stream_waits?"', "", 4,
           outside=f"{MAKERS}|{READERS}|{TRANSLATORS}", count_files=True),
    Recipe("command", "slice", r"\b(add_)?slice\b", r"/slice\.(h|cpp)$", 1, within=r"^cli/"),
    Recipe("panel", "flames", r'\bkFlames?\b|\b\w*flames\b|"Flame graph"', r"/(flames|flame_graph)\.(h|cpp)$", 1, within=r"^viewer/"),
    Recipe("report section", "launches", r'\blaunches_section\b|[{(]"launches"', r"/(section_)?launches\.(h|cpp)$", 1,
           within=r"^reports/(html|web)/"),
    # The enumerator is the example itself. Importers and NCCL's names know it by other names; the bundled devices carry it out.
    Recipe("collective operation", "broadcast", r"\bkBroadcast\b(?! = \d)", "", 1, outside=MAKERS),
)


@dataclasses.dataclass(frozen=True)
class Place:
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text[:100]}"


def code_files(root):
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in NO_CODE and not name.startswith("."))
        for name in sorted(files):
            if name.endswith(EXTENSIONS):
                yield os.path.relpath(os.path.join(folder, name), root)


def read_code(root):
    """Lines of each file without comments and #include lines."""
    code = {}
    for path in code_files(root):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            text = file.read()
        mark = "#" if path.endswith((".cmake", "CMakeLists.txt")) else "//"
        lines = [re.sub(rf'(^|\s){mark}.*', "", line) for line in text.split("\n")]
        code[path] = ["" if line.lstrip().startswith("#include") else line for line in lines]
    return code


def places_of(recipe, code):
    """Where an example is named; None: the example is not there."""
    pattern, own = re.compile(recipe.pattern), re.compile(recipe.own)
    if recipe.own and not any(own.search("/" + path) for path in code):
        return None

    places = []
    for path, lines in code.items():
        is_own = recipe.own and own.search("/" + path)
        if is_own or not re.search(recipe.within, path) or re.search(recipe.outside, path):
            continue
        last = None
        for number, line in enumerate(lines, 1):
            if not pattern.search(line):
                continue
            if last is None or (not recipe.count_files and number - last > LINES_OF_A_ROW):
                places.append(Place(path, number, line.strip()))
            last = number
    return places


def read_ratchet(root):
    """Places that a recipe may have; without a file each may have what it should."""
    path = os.path.join(root, RATCHET)
    if not os.path.isfile(path):
        return {}
    allowed = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if entry := re.fullmatch(r"(.+): (\d+)\n?", line.partition("#")[0]):
                allowed[entry[1]] = int(entry[2])
    return allowed


def write_ratchet(root, allowed):
    with open(os.path.join(root, RATCHET), "w", encoding="utf-8") as file:
        file.write("# Recipes that cost more places than they may, and how many now (tests/checks/recipes_test.py). May only shrink.\n")
        file.writelines(f"{name}: {count}\n" for name, count in allowed.items())


def fault_of(recipe, places, allowed):
    """What is wrong with a recipe's cost; "" where nothing is."""
    unit = "files" if recipe.count_files else "places"
    about = f"{recipe.name} ({recipe.example})"
    if not places:
        missing = "has no file of its own" if places is None else "is named nowhere"
        return f"{about}: the example {missing}: RECIPES needs another example or another pattern"

    ratchet = allowed.get(recipe.name, recipe.most)
    if len(places) > ratchet:
        until = f" ({RATCHET} allows {ratchet})" if recipe.name in allowed else ""
        return f"{about}: {len(places)} {unit}, at most {recipe.most}{until}; make one list that the others read"
    if recipe.name in allowed and len(places) < ratchet:
        return f"{about}: {len(places)} {unit}, {RATCHET} allows {ratchet}: run recipes_test.py --shrink"
    if recipe.name in allowed and ratchet <= recipe.most:
        return f"{about}: {len(places)} {unit} are within the bound: take it out of {RATCHET}"
    return ""


def check(root, show_all=False):
    """Prints the faults, with the places; returns how many."""
    code, allowed = read_code(root), read_ratchet(root)
    faults = [f"{RATCHET}: there is no recipe {name}" for name in allowed if name not in {recipe.name for recipe in RECIPES}]
    print(*faults, sep="\n", end="\n" if faults else "")

    for recipe in RECIPES:
        places = places_of(recipe, code)
        fault = fault_of(recipe, places, allowed)
        faults += [fault] if fault else []
        if fault or show_all:
            print(fault or f"{recipe.name} ({recipe.example}): {len(places)}, at most {recipe.most}")
            print(*(f"  {place}" for place in places or []), sep="\n")
    print(f"{len(faults)} faults")
    return len(faults)


def shrink(root):
    code, allowed = read_code(root), read_ratchet(root)
    counts = {recipe.name: len(places_of(recipe, code) or []) for recipe in RECIPES}
    over = {recipe.name: counts[recipe.name] for recipe in RECIPES if counts[recipe.name] > recipe.most}
    grown = [name for name, count in over.items() if count > allowed.get(name, count)]
    if os.path.isfile(os.path.join(root, RATCHET)) and (grown or set(over) - set(allowed)):
        print(f"{RATCHET} would grow; recipes_test.py says where")
        return 1
    write_ratchet(root, over)
    return 0


# A tree in which every recipe costs what it may.
MADE_TREE = {
    "trace/import/formats/nccl_inspector/inspector_importer.h": "bool is_inspector_log();\nbool is_inspector_name();\n",
    "trace/import/formats/importers.cpp": '#include "inspector_importer.h"\n{"NCCL inspector",\n is_inspector_log},  // Inspector\n',
    "analyzer/rules/misaligned_matrices.cpp": "void find_misaligned_matrices() {}\n",
    "analyzer/rules/rules.h": "// misaligned_matrices\nvoid find_misaligned_matrices();\n",
    "analyzer/rules/rules.cpp": '{"misaligned-matrices", find_misaligned_matrices},\n',
    "reports/words/wording.cpp": '{"misaligned-matrices", "Matrix sizes"},\n',
    "trace/synth/fault_kinds.cpp": '{"misaligned-matrices"},\n',
    "trace/model/details.h": "struct StreamWaitDetail {};\n\n\nColumn<StreamWaitDetail>\n",
    "trace/model/kinds.h": "kStreamWait = 14,\n",
    "analyzer/metrics/time/idle_causes.cpp": "EventKind::kStreamWait;\n",
    "cli/slice.cpp": "Action add_slice() {}\n",
    "cli/commands.cpp": 'Command{"slice",\n        "keep a part",\n        add_slice},\n',
    "viewer/panels/flames.cpp": "void flames() {}\n",
    "viewer/panels/panels.cpp": '{"flames", "Flame graph", flames},\n',
    "reports/html/section_launches.cpp": "std::string launches_section() {}\n",
    "reports/html/html.cpp": '{"launches", "Launches", launches_section},\n',
    "trace/model/collective_ops.h": "kBroadcast = 4,\n\n\n{.op = CollectiveOp::kBroadcast},\n",
    "trace/model/build/communication_names.cpp": '{"broadcast", CollectiveOp::kBroadcast},\n',
    "tests/unit/panels_test.cpp": "flames();\n",
}
# A file, what is added to it, and a part of the fault's text. One of them for each recipe, then the test's own faults.
PLANTED = (
    ("trace/import/open/open_run.cpp", "if (is_inspector_name(name)) return true;\n", "format (nccl_inspector): 2 places"),
    ("analyzer/rules/order.cpp", 'is("misaligned-matrices");\n', "rule (misaligned-matrices): 3 places"),
    ("reports/html/page.cpp", '"misaligned-matrices"\n', "rule's words (misaligned-matrices): 2 places"),
    ("query/a.cpp", "kStreamWait\n", None),
    ("viewer/describe.cpp", "case kStreamWaits:\n", None),
    ("viewer/palette.cpp", "case kStreamWait:\n", "event kind (stream_wait): 5 files"),
    ("cli/CMakeLists.txt", "add_library(cli slice.cpp)\n", "command (slice): 2 places"),
    ("viewer/main_window/ui.cpp", "\n\n\ncase Tab::kFlames:\n", "panel (flames): 2 places"),
    ("reports/html/page.h", "std::string launches_section();\n", "report section (launches): 2 places"),
    ("analyzer/a.cpp", "case Op::kBroadcast:\n", "collective operation (broadcast): 2 places"),
    (RATCHET, "panel: 1\n", "panel (flames): 2 places"),
    (RATCHET, "command: 3\n", "run recipes_test.py --shrink"),
    (RATCHET, "rule: 2\n", "rule (misaligned-matrices): 3 places"),
    (RATCHET, "no such: 2\n", "there is no recipe no such"),
)


def faults_in(root):
    code, allowed = read_code(root), read_ratchet(root)
    found = [fault_of(recipe, places_of(recipe, code), allowed) for recipe in RECIPES]
    found += [f"there is no recipe {name}" for name in allowed if name not in {recipe.name for recipe in RECIPES}]
    return [fault for fault in found if fault]


def plant(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "a", encoding="utf-8") as file:
        file.write(text)


def self_test():
    wrong = []
    with tempfile.TemporaryDirectory() as root:
        for path, text in MADE_TREE.items():
            plant(root, path, text)
        wrong += [f"a fault in the made tree: {fault}" for fault in faults_in(root)]

        for path, text, expected in PLANTED:
            plant(root, path, text)
            if expected and not any(expected in fault for fault in faults_in(root)):
                wrong.append(f"not found: {expected}")

        # The ratchet allows what is there, and not one place more.
        os.remove(os.path.join(root, RATCHET))
        shrink(root)
        wrong += [f"a fault beside a ratchet: {fault}" for fault in faults_in(root)]
        plant(root, "viewer/session/saved.cpp", "flames\n")
        with contextlib.redirect_stdout(io.StringIO()):
            grew = shrink(root) == 0
        if grew or len(faults_in(root)) != 1:
            wrong.append("the ratchet grew")

        os.remove(os.path.join(root, "cli/slice.cpp"))
        if not any("has no file of its own" in fault for fault in faults_in(root)):
            wrong.append("not found: an example that is gone")
    print(*wrong, f"{len(wrong)} faults in the self-test", sep="\n")
    return 1 if wrong else 0


def main():
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    root = next((word for word in sys.argv[1:] if not word.startswith("--")), here)
    if "--self-test" in options:
        return self_test()
    if "--shrink" in options:
        return shrink(root)
    return 1 if check(root, "--list" in options) else 0


if __name__ == "__main__":
    sys.exit(main())
