#!/usr/bin/env python3
"""Checks that names the project has given up do not come back (tests/guards/name_table.py: the old name, the field's word for
it, and where it is banned): identifiers of C++, names of files and folders, and words that people read. And that a source file that a
comment names is there.

usage: check_names.py [ROOT]             exit status 1 and one line a fault that tests/ratchets/names.txt does not allow
       check_names.py --all [PATH…]      every fault, in these files and folders only
       check_names.py --shrink           writes the smaller counts of a tree with fewer faults
       check_names.py --create           writes the ratchet for the first time
       check_names.py --self-test        plants a fault of each kind in a made tree and looks whether it is found
"""
import bisect
import os
import re
import sys

sys.dont_write_bytecode = True
from guards import cpp_source, name_table, ratchet, tree
from guards.name_table import File, Folder, Name, Words
from guards.ratchet import Fault

PROGRAM = "tests/check_names.py"
SCRIPTS = (".py", ".sh", ".ts", ".md", ".cmake", "CMakeLists.txt")
# History is told in the words of its time, and the guards name what they ban.
NOT_READ = ("docs/design/decisions", "CHANGELOG.md", "tests/guards", "tests/check_", "tests/fuzz/corpus")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
MARKED = re.compile(r"[A-Za-z]_|[a-z0-9][A-Z]")
READ_BY_PEOPLE = re.compile(r"[A-Za-z]{2,} +[A-Za-z]|^[\"(]*[A-Z]")
# Ours are in small letters; NAME.cpp stands for any file, nvtxImpl.h is another's.
NAMED_FILE = re.compile(r"(?<![\w-])([a-z_0-9]+\.(?:h|cpp))\b(?!\.\d)")
# Files of others that comments name as a source.
OF_OTHERS = {"cuda.h", "cupti_driver_cbid.h", "cupti_runtime_cbid.h", "nvml.h", "omp.h", "util.cpp"}


def scopes_of(where):
    """The folders of a row with the unit tests that mirror them, by the whole path or, as some do, by its last part."""
    return tuple(where) + tuple("tests/unit/" + each for each in where) + tuple("tests/unit/" + each.split("/")[-1] for each in where)


def is_in_scope(path, scopes):
    return not scopes or any(path == scope or path.startswith((scope + "/", scope + ".", scope + "_")) for scope in scopes)


def better_name(row, match):
    """The better name with the groups of the old one."""
    return re.sub(r"\{(\d)\}", lambda group: (match.group(int(group.group(1))) or "") if int(group.group(1)) <= len(match.groups()) else "",
                  row.better)


class Table:
    def __init__(self, rows):
        self.names = [(re.compile(row.old), row, scopes_of(row.where)) for row in rows if isinstance(row, Name)]
        self.files = [(re.compile(row.old), row, scopes_of(row.where)) for row in rows if isinstance(row, File)]
        self.folders = [row for row in rows if isinstance(row, Folder)]
        self.words = [(re.compile(row.old, re.I), row, scopes_of(row.where)) for row in rows if isinstance(row, Words)]
        self.known = {}  # identifier → its rows, whatever their scope

    def rows_of(self, identifier):
        found = self.known.get(identifier)
        if found is None:
            found = [(row, scopes, match) for pattern, row, scopes in self.names if (match := pattern.fullmatch(identifier))]
            self.known[identifier] = found
        return found

    def name_fault(self, path, identifier):
        for row, scopes, match in self.rows_of(identifier):
            if is_in_scope(path, scopes) and path not in row.allowed:
                return f"{identifier}: better {better_name(row, match)}"
        return None

    def path_faults(self, path):
        faults = []
        for row in self.folders:
            for folder in (row.old, "tests/unit/" + row.old):
                if tree.within(path, folder) and path not in row.allowed:
                    faults.append(Fault(path, 0, "folder", f"{row.old}/ has a better name: {row.better}/"))
        stem = re.sub(r"_test$", "", os.path.basename(path).split(".")[0])
        for pattern, row, scopes in self.files:
            match = pattern.fullmatch(stem)
            if match and is_in_scope(path, scopes) and path not in row.allowed:
                faults.append(Fault(path, 0, "file-name", f"a file named {stem}: better {better_name(row, match)}"))
                break
        return faults

    def word_faults(self, path, number, text):
        faults = []
        for pattern, row, scopes in self.words:
            if not is_in_scope(path, scopes) or path in row.allowed:
                continue
            for match in pattern.finditer(text):
                faults.append(Fault(path, number + text.count("\n", 0, match.start()), "words", f'"{match.group(0)}": better {row.better}'))
        return faults


def test_names(source):
    """Offsets between which the words are the sentence that names a test."""
    return [(source.starts[function.first_line - 1], function.body[0]) for function in source.functions if function.is_test]


def check_source(table, path, source):
    faults = []
    spans = test_names(source)
    begins = [begin for begin, _ in spans]
    for offset, identifier in source.words:
        fault = table.name_fault(path, identifier)
        if not fault:
            continue
        span = bisect.bisect_right(begins, offset) - 1
        if span < 0 or offset >= spans[span][1]:
            faults.append(Fault(path, source.line_of(offset), "identifier", fault))
    for offset, text in source.comments:
        for match in IDENTIFIER.finditer(text):
            if MARKED.search(match.group(0)):
                fault = table.name_fault(path, match.group(0))
                if fault:
                    faults.append(Fault(path, source.line_of(offset + match.start()), "identifier", fault))
        faults += table.word_faults(path, source.line_of(offset), text)
    for offset, text, _ in source.strings:
        if READ_BY_PEOPLE.search(text):
            faults += table.word_faults(path, source.line_of(offset), text)
    return faults


def missing_files(path, source, known):
    faults = []
    for offset, text in source.comments:
        for match in NAMED_FILE.finditer(text):
            if match.group(1) not in known:
                line = source.line_of(offset + match.start())
                faults.append(Fault(path, line, "file", f"there is no {match.group(1)}: name the file that the comment means"))
    return faults


def check(root, rows=None):
    table = Table(name_table.ROWS if rows is None else rows)
    faults = []
    known = OF_OTHERS | {os.path.basename(path) for path in tree.files(root, tree.CPP)}
    for path in tree.files(root, tree.CPP + SCRIPTS):
        if path.startswith(NOT_READ):
            continue
        faults += table.path_faults(path)
        text = tree.read(root, path)
        if path.endswith(tree.CPP):
            source = cpp_source.read_source(text)
            faults += check_source(table, path, source) + missing_files(path, source, known)
        else:
            faults += table.word_faults(path, 1, text)
    return faults


def self_test():
    rows = [
        Name(r"FarRun", "OutOfCoreRun"), Name(r"say_(\w+)", "describe_{1}", where=("reports",)),
        Name(r"((?:\w+_)?)wish(es)?(_\w*|)", "{1}request{3}", allowed=("trace/alias.cpp",)),
        File(r"far_(.*)", "out_of_core_{1}", where=("viewer",)), Folder("machine", "doctor"),
        Words(r"\blate host\b", "launch-bound", allowed=("docs/old.md",)), Words(r"(?-i:\bNOTE\b)", "INFO", where=("reports",)),
    ]
    good = {
        "reports/a.cpp": 'void describe_idle();  // farrun FarRuns, see doctor/a.h, transformer.h.3\nchar const* k = "late_host";\nchar const* n = "FarRun";\n// a note\n',
        "cli/a.cpp": "void say_idle();\n// NOTE of another tool\n",
        "tests/unit/reports/a_test.cpp": "TEST(Reports, say_why) {\n  f();\n}\n",
        "trace/alias.cpp": "int wish;\n", "trace/far_events.h": "int x;\n", "doctor/a.h": "int x;\n", "docs/old.md": "A late host.\n",
        "docs/design/decisions/0001-a.md": "A late host.\n", "tests/fuzz/corpus/a.md": "late host\n", "trace/wishful.h": "int wishful;\n",
    }
    bad = {
        "an identifier": ("viewer/b.cpp", "int x;\nFarRun y;\n", "viewer/b.cpp:2: FarRun: better OutOfCoreRun"),
        "an identifier in a comment": ("viewer/b.cpp", "/* one\n two FarRun */\n", "viewer/b.cpp:2: FarRun: better OutOfCoreRun"),
        "a name with its group": ("reports/b.cpp", "void say_idle();\n", ":1: say_idle: better describe_idle"),
        "a name in the folder's tests": ("tests/unit/reports/b_test.cpp", "TEST(A, B) { say_idle(); }\n", ":1: say_idle: better describe_idle"),
        "a part of a name": ("trace/b.cpp", "int tile_wishes_;\n", ":1: tile_wishes_: better tile_request_"),
        "a file": ("viewer/far_scene.h", "int x;\n", "viewer/far_scene.h: a file named far_scene: better out_of_core_scene"),
        "a file's test": ("tests/unit/viewer/far_scene_test.cpp", "int x;\n", "a file named far_scene: better out_of_core_scene"),
        "a folder": ("machine/a.h", "int x;\n", "machine/a.h: machine/ has a better name: doctor/"),
        "words in a string": ("reports/b.cpp", 'char const* k =\n    "a late host";\n', ':2: "late host": better launch-bound'),
        "words in a comment": ("reports/b.cpp", "int x;  // The Late host.\n", ':1: "Late host": better launch-bound'),
        "words in a document": ("docs/b.md", "# A\n\nThe late host waits.\n", ':3: "late host": better launch-bound'),
        "a file that is gone": ("trace/b.cpp", "int x;\n/// As in old/scene.h.\n", ":2: there is no scene.h"),
        "a word of severity": ("reports/b.cpp", 'char const* k = "NOTE";\n', ':1: "NOTE": better INFO'),
    }
    failures = []
    for name, (path, text, message) in [("a good tree", (None, None, None)), *bad.items()]:
        with tree.made_tree({**good, **({path: text} if path else {})}) as root:
            faults = [str(fault) for fault in check(root, rows)]
        if path is None and faults or path and (len(faults) != 1 or not faults[0].startswith(path) or message not in faults[0]):
            failures.append(f"{name}: found {faults}")

    # The true table: English that it leaves alone, and some of its rows.
    table = Table(name_table.ROWS)
    for path, identifier, expected in [
            ("viewer/a.cpp", "FarRun", "OutOfCoreRun"), ("viewer/a.cpp", "so_far", None), ("viewer/a.cpp", "path_so_far", None),
            ("viewer/a.cpp", "is_far", "is_out_of_core"), ("viewer/a.cpp", "far", "out_of_core"), ("viewer/a.cpp", "farewell", None),
            ("viewer/a.cpp", "FarSearch", "OutOfCoreSearch"), ("analyzer/rules/a.cpp", "kFarAheadNs", None),
            ("viewer/a.cpp", "take_wishes", "apply_requests"), ("viewer/a.cpp", "TileWish", "TileRequest"),
            ("analyzer/a.h", "StepFacts", "StepStats"), ("analyzer/a.h", "artifacts", None), ("analyzer/a.h", "facts", None),
            ("analyzer/a.h", "is_usual", "is_steady"), ("trace/synth/a.h", "usual", None), ("reports/a.cpp", "say_idle", "describe_idle"),
            ("analyzer/a.h", "withheld", None), ("analyzer/a.h", "healthy", None), ("viewer/a.h", "threshold", None),
            ("trace/a.h", "kLaunchStarved", "kLaunchBound"), ("workloads/a.h", "told_at_", "reported"), ("trace/base/a.h", "HeldSignals", None)]:
        fault = table.name_fault(path, identifier)
        if (fault is None) != (expected is None) or expected and expected not in fault:
            failures.append(f"{path}: {identifier}: expected {expected}, found {fault}")
    for row in name_table.ROWS:
        if isinstance(row, Name):
            for better in re.findall(r"^[A-Za-z_]+$", row.better):
                if table.name_fault((row.where or ("viewer",))[0] + "/a.cpp", better):
                    failures.append(f"the better name {better} is banned itself")
    with tree.made_tree({"viewer/a.cpp": "FarRun a;\n", "viewer/b.cpp": "FarRun a;\nFarRun b;\n"}) as root, \
            tree.made_tree({"viewer/a.cpp": "Run a;\n", "viewer/b.cpp": "FarRun a;\nFarRun b;\n"}) as mended:
        failures += ratchet.self_test(check, root, "names", PROGRAM, mended)
    for failure in failures:
        print(f"self-test: {failure}")
    print("check_names: every planted fault is found" if not failures else f"check_names: {len(failures)} cases failed")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = own if "--all" in arguments else next((each for each in arguments if not each.startswith("--")), own)
    return ratchet.run(check(root), root, "names", arguments, PROGRAM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
