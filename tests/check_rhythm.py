#!/usr/bin/env python3
"""Checks that C++ sources breathe: lines of at most 100 columns, short files and functions by their code lines (blank lines
and comments are free), functions whose phases are paragraphs, no conditional inside another one, no ruler comments.

usage: check_rhythm.py [ROOT]             exit status 1 and one line a fault that tests/ratchets/rhythm.txt does not allow
       check_rhythm.py --all [PATH…]      every fault, in these files and folders only
       check_rhythm.py --shrink           writes the smaller counts of a tree with fewer faults
       check_rhythm.py --create           writes the ratchet for the first time
       check_rhythm.py --report [ROOT]    lengths of functions, blank lines in them, share of comments, files a folder
       check_rhythm.py --self-test        plants each fault in a made tree and looks whether it is found
"""
import os
import re
import statistics
import sys
import unicodedata
from collections import Counter, defaultdict

sys.dont_write_bytecode = True
from guards import cpp_source, ratchet, tree
from guards.ratchet import Fault

MAX_COLUMNS = 100
MAX_FUNCTION = 50
MAX_SOURCE = 450
MAX_HEADER = 200
# From so many code lines on a function has at least so many blank lines inside.
PARAGRAPHS = ((30, 2), (12, 1))
# A function of one or two statements has no phases: one call with a long table, one switch whose cases are a line each.
STATEMENTS_WITHOUT_PHASES = 2

PROGRAM = "tests/check_rhythm.py"
SOURCES = (".h", ".cuh", ".cpp", ".cu")
RULER = re.compile(r"^(//+[!<]?|/\*)\s*([-=#*~_+])\2{3,}")
CASE = re.compile(r"^\s*(case\b.*|default\s*):")
STATEMENT = re.compile(r"[;(){}\[\]]|\b(?:if|for|while|switch|do|try)\b")


def columns(line):
    """Columns as clang-format counts them: two for wide letters, none for combining marks."""
    if line.isascii():
        return len(line)
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 0 if unicodedata.combining(letter) else 1 for letter in line)


def too_wide(source, lines):
    """Lines over the limit, but for those that clang-format cannot break: raw strings, #include, and words without a space."""
    found = [number for number, line in enumerate(lines, 1) if len(line) > MAX_COLUMNS // 2 and columns(line) > MAX_COLUMNS]
    if not found:
        return []
    unbreakable = set()
    for offset, text, is_raw in source.strings:
        if is_raw:
            first = source.line_of(offset)
            unbreakable.update(range(first, first + text.count("\n") + 1))
        elif len(text) > MAX_COLUMNS // 2 and " " not in text.rstrip('"').rstrip():
            unbreakable.add(source.line_of(offset))
    for offset, text in source.directives:
        if re.match(r"\s*#\s*(include|error|pragma)", text):
            unbreakable.add(source.line_of(offset))
    result = []
    for number in found:
        words = lines[number - 1].strip().lstrip("/*!< ").split()
        if number not in unbreakable and len(words) > 1 or RULER.match(lines[number - 1].strip()):
            result.append(number)
    return result


def code_without_strings(source, begin, end):
    """The text between two offsets with comments and strings blanked, so that words and semicolons count."""
    parts, at = [], begin
    for offset, text in sorted([(offset, text) for offset, text, _ in source.strings] + source.comments):
        if offset >= end:
            break
        if offset < begin:
            continue
        parts += [source.text[at:offset], re.sub(r"[^\n]", " ", text)]
        at = offset + len(text)
    parts.append(source.text[at:end])
    return "".join(parts)


def statement_count(text):
    """Semicolons and control words, but for the semicolons inside the parentheses of a `for`."""
    count = 0
    opened = []
    for match in STATEMENT.finditer(text):
        token = match.group(0)
        if token in "([{":
            opened.append(token)
        elif token in ")]}":
            if opened:
                opened.pop()
        elif token != ";" or not opened or opened[-1] == "{":
            count += 1
    return count


def is_balanced(text):
    return all(text.count(left) == text.count(right) for left, right in ("()", "{}", "[]"))


def phase_lines(source, function):
    """(code lines that count for paragraphs, statements): a `case` with what follows it in its line, or the return in the next,
    is a row of a table."""
    counted = source.code_lines_in(function.first_line, function.last_line)
    rest = []
    behind_case = False
    for text in code_without_strings(source, *function.body).split("\n"):
        stripped = text.strip()
        is_row = is_balanced(text) and (CASE.match(text) or behind_case and re.match(r"return\b.*;$|break;$", stripped))
        if is_row:
            counted -= 1
        else:
            rest.append(text)
        if stripped:
            behind_case = bool(is_row) and stripped.endswith(":")
    return counted, statement_count("\n".join(rest))


def blank_lines(source, function):
    return sum(source.blank_lines[function.body_line:function.last_line - 1])


def needed_blank_lines(source, function):
    length = source.code_lines_in(function.first_line, function.last_line)
    if length < PARAGRAPHS[-1][0]:
        return 0
    counted, statements = phase_lines(source, function)
    if statements <= STATEMENTS_WITHOUT_PHASES:
        return 0
    return next((blank for least, blank in PARAGRAPHS if counted >= least), 0)


def check_file(path, source):
    faults = []
    lines = source.text.split("\n")
    for number in too_wide(source, lines):
        faults.append(Fault(path, number, "columns", f"{columns(lines[number - 1])} columns, the limit is {MAX_COLUMNS}: run scripts/format.sh"))

    if source.unclosed_line:
        faults.append(Fault(path, source.unclosed_line, "braces", "this check cannot follow the braces from here: its functions were not measured"))
    length = sum(source.code_lines)
    limit = MAX_HEADER if path.endswith(tree.HEADERS) else MAX_SOURCE
    if length > limit:
        faults.append(Fault(path, 0, "file-length", f"{length} code lines, the limit is {limit}: split it by question"))

    for function in source.functions:
        what = "test" if function.is_test else "function"
        length = source.code_lines_in(function.first_line, function.last_line)
        if length > MAX_FUNCTION:
            faults.append(Fault(path, function.first_line, "function-length",
                                f"{what} {function.name} has {length} code lines, the limit is {MAX_FUNCTION}: one function a phase"))
        blank, needed = blank_lines(source, function), needed_blank_lines(source, function)
        if blank < needed:
            faults.append(Fault(path, function.first_line, "paragraphs",
                                f"{what} {function.name} has {length} code lines and {blank} blank lines, at least {needed} belong "
                                "between its phases"))

    for number in source.nested_conditionals:
        faults.append(Fault(path, number, "nested-conditional", "?: inside ?: — use if, a switch or a named function"))
    for offset, text in source.comments:
        if RULER.match(text):
            faults.append(Fault(path, source.line_of(offset), "ruler", "ruler comment: a blank line and a plain comment, or a file of its own"))
    return faults


def sources(root):
    return {path: cpp_source.read_source(tree.read(root, path)) for path in tree.files(root, SOURCES)}


def check(root):
    return [fault for path, source in sources(root).items() for fault in check_file(path, source)]


def comment_only_lines(source):
    lines = set()
    for offset, text in source.comments:
        first = source.line_of(offset)
        lines.update(range(first, first + text.count("\n") + 1))
    return sum(1 for line in lines if not source.code_lines[line - 1])


def report(root):
    lengths, test_lengths, blanks = [], [], Counter()
    code, comments, files_of = Counter(), Counter(), Counter()
    for path, source in sources(root).items():
        folder = os.path.dirname(path)
        top = "/".join(folder.split("/")[:2])
        code[top] += sum(source.code_lines)
        comments[top] += comment_only_lines(source)
        files_of[folder] += 1
        for function in source.functions:
            length = source.code_lines_in(function.first_line, function.last_line)
            (test_lengths if function.is_test else lengths).append(length)
            if length >= 15:
                blanks[min(blank_lines(source, function), 5)] += 1
    for what, values in (("functions", lengths), ("tests", test_lengths)):
        if values:
            ordered = sorted(values)
            print(f"{len(values)} {what}: median {statistics.median(values):g} code lines, 90 % under "
                  f"{ordered[len(ordered) * 9 // 10] + 1}, longest {ordered[-1]}")
    total = sum(blanks.values())
    print(f"\nblank lines in the {total} functions and tests of 15 code lines and more")
    for blank in sorted(blanks):
        print(f"  {blank if blank < 5 else '5 or more':>9}: {blanks[blank]:6}  {100 * blanks[blank] / total:5.1f} %")
    print("\ncomment lines, in % of comment and code lines")
    for top in sorted(code):
        print(f"  {100 * comments[top] / max(1, comments[top] + code[top]):5.1f} %  {top or '.'}")
    print("\nsource files directly in a folder, from 15 on")
    for folder, count in files_of.most_common():
        if count >= 15:
            print(f"  {count:4}  {folder}")
    return 0


# What the reader of C++ has to see: text, and (name, code lines, blank lines, is a test) of each function.
READER_CASES = {
    "function": ("int f(int x) {\n  return x;\n}\n", [("f", 3, 0, False)]),
    "braces in strings and comments": ('void f() {\n  g("{", \'{\', R"x({{)" )x");  // {\n  /* { */\n\n}\n', [("f", 3, 1, False)]),
    "digit separators are no letters": ("int const k = 1'000'000;\nvoid f() {\n}\n", [("f", 2, 0, False)]),
    "namespace and class": ("namespace a::b {\nclass C : public D<int(int)> {\n public:\n  C() : x_{1}, y_(2) {\n  }\n  int x_{3};\n};\n}\n",
                            [("C", 2, 0, False)]),
    "constructor outside, base in braces": ("C::C(int x)\n    : B<int>{x},\n      y_{[] { return 1; }()} {\n  go();\n}\n",
                                            [("lambda", 1, 0, False), ("C::C", 5, 0, False)]),
    "destructor": ("A::~A() {\n}\n", [("A::~A", 2, 0, False)]),
    "operators": ("bool A::operator()(int x) const noexcept {\n}\nA& operator=(A const& a) {\n}\nstruct B {\n  explicit operator bool() const { return x; }\n};\n",
                  [("operator()", 2, 0, False), ("operator=", 2, 0, False), ("operatorbool", 1, 0, False)]),
    "operator of brackets": ("struct A {\n  int& operator[](int x) {\n    return y;\n  }\n  int f() const {\n  }\n};\n",
                             [("operator[]", 3, 0, False), ("f", 2, 0, False)]),
    "trailing return and template": ("template <class T, int N = (1 > 0)>\n  requires std::is_enum_v<T>\nauto f(T t) -> std::vector<T> {\n}\n",
                                     [("f", 4, 0, False)]),
    "lambda inside a function": ("void f() {\n  auto g = [&](int x) -> int {\n    return x;\n  };\n\n  g(1);\n}\n", [("f", 6, 1, False)]),
    "lambdas of a table": ('Row const kRows[] = {{"a", [](int x) {\n  return x;\n}}, {"b", nullptr}};\n', [("lambda", 3, 0, False)]),
    "enum, struct, initialiser": ("enum class E : int {\n  kA,\n};\nstruct S {\n  int a = 1;\n};\nconstexpr std::array<S, 2> kS = {{{1}, {2}}};\nS s{1};\n", []),
    "struct in the type of a function": ("struct tm* now(struct stat const& s) {\n}\n", [("now", 2, 0, False)]),
    "extern C": ('extern "C" {\nint f() {\n}\n}\nextern "C" int g() {\n}\n', [("f", 2, 0, False), ("g", 2, 0, False)]),
    "both branches of the preprocessor": ("#if A\nvoid f() {\n#else  // not A\nvoid f(int) {\n#endif\n  g();\n}\nvoid h() {\n}\n",
                                          [("f", 4, 0, False), ("h", 2, 0, False)]),
    "macros with braces": ("#define OPEN {{ \\\n  {\nvoid f() {\n}\n", [("f", 2, 0, False)]),
    "attributes": ("[[nodiscard]] __attribute__((noinline)) int f() {\n}\nstruct alignas(64) S {\n  void g() {\n  }\n};\n",
                   [("f", 2, 0, False), ("g", 2, 0, False)]),
    "tests": ("TEST(Suite, DoesIt) {\n  f();\n\n  g();\n}\n", [("TEST(Suite, DoesIt)", 4, 1, True)]),
    "requires expressions": ("template <class T>\nconcept C = requires(T t) { t.f(); };\nvoid f() {\n  if constexpr (requires { a.b; }) {\n  }\n}\n",
                             [("f", 4, 0, False)]),
    "blank lines of raw strings": ('void f() {\n  g(R"(a\n\nb)");\n}\n', [("f", 5, 0, False)]),
    "try as body": ("int main() {\n  try {\n    f();\n  } catch (...) {\n  }\n}\n", [("main", 6, 0, False)]),
    "kernels": ("__global__ void __launch_bounds__(256) add(float* x) {\n}\n", [("add", 2, 0, False)]),
}
CONDITIONAL_CASES = {
    "int f() { return a ? b : c; }": 0,
    "int f() { return a ? b : c ? d : e; }": 1,
    "int f() { return a ? b ? 1 : 2 : c; }": 1,
    "int f() { return a ? (b ? 1 : 2) : c; }": 1,
    "int f() { return (a ? b : c) ? d : e; }": 1,
    "int f() { return a ? g(b ? 1 : 2) : c; }": 1,
    "void f() { g(a ? b : c, d ? e : f); }": 0,
    "void f() { x = a ? b : c; y = d ? e : f; }": 0,
    "void f() { if (a ? b : c) { d ? e() : f(); } else g(h ? 1 : 2); }": 0,
    "void f() { a ? g([&] { return b ? 1 : 2; }) : c; }": 0,
    "void f() { switch (a) { case 1: x = b ? c : d; break; case 2: y = b ? c : d; } }": 0,
    "void f() { for (auto x : a ? b : c) d ? e() : f(); }": 0,
    "void f() { return S{a ? b : c, d ? e : f}; }": 0,
    "void f() { return a ? S{b ? 1 : 2} : c; }": 1,
    "void f() { if (g(a ? b : c)) h(d ? 1 : 2); }": 0,
    "int const k = a ? 1 : b ? 2 : 3;": 1,
    'void f() { g("?:?:"); /* ? ? : */ }': 0,
}


def lines_of(count, blank_at=()):
    """A function of `count` code lines with blank lines before the given ones."""
    body = []
    for number in range(count - 2):
        body += ["" if number in blank_at else None, f"  step({number});"]
    return "void f() {\n" + "\n".join(line for line in body if line is not None) + "\n}\n"


def self_test():
    failures = []
    for name, (text, expected) in READER_CASES.items():
        source = cpp_source.read_source(text)
        found = [(each.name, source.code_lines_in(each.first_line, each.last_line), blank_lines(source, each), each.is_test)
                 for each in source.functions]
        if sorted(found) != sorted(expected):
            failures.append(f"reader: {name}: expected {expected}, found {found}")
    for text, expected in CONDITIONAL_CASES.items():
        found = len(cpp_source.read_source(text).nested_conditionals)
        if found != expected:
            failures.append(f"conditional: {text}: expected {expected}, found {found}")

    case = "".join(f"    case {number}: return {number};\n" for number in range(20))
    good = {
        "trace/a.cpp": lines_of(11) + lines_of(12, {4}) + lines_of(50, {4, 8}),
        "trace/wide.cpp": "// " + "x" * 97 + "\n// https://example.org/" + "x" * 100 + '\nchar const* k =\n    "' + "x" * 110
                          + '";\nauto j = R"(' + "x y " * 40 + ')";\n#include "' + "x" * 100 + '.h"\n',
        "trace/table.cpp": "int f(int x) {\n  switch (x) {\n" + case + "  }\n}\nvoid g() {\n  h(" + "1,\n" * 20 + "1);\n}\n",
        "trace/long.h": "int x;\n" * 200 + "\n" * 50 + "// why\n" * 50,
        "trace/long.cpp": "int x;\n" * 450 + "\n" * 50 + "// why\n" * 50,
        "tests/a_test.cpp": "TEST(A, B) {\n  f();\n}\n",
        "trace/diagram.h": "// a ---- b\n// | -- |\n",
        "tests/e2e/plain.c": "// " + "x " * 90,
        "build/x.cpp": "// " + "x " * 90,
    }
    bad = {
        "a wide line": ("trace/b.cpp", "int f();\n// " + "x " * 49 + "x\n", ":2: 102 columns"),
        "a wide line of wide letters": ("trace/b.cpp", "// 大" + " 大" * 33 + "\n", ":1: 104 columns"),
        "a wide string": ("trace/b.cpp", 'auto x = "' + "word " * 20 + '";\n', ":1: 112 columns"),
        "a long header": ("trace/b.h", "int x;\n" * 201, "201 code lines, the limit is 200"),
        "a long source": ("trace/b.cpp", "int x;\n" * 451, "451 code lines, the limit is 450"),
        "a long function": ("trace/b.cpp", lines_of(51, {3, 6}), ":1: function f has 51 code lines, the limit is 50"),
        "no paragraph": ("trace/b.cpp", "\n" + lines_of(12), ":2: function f has 12 code lines and 0 blank lines, at least 1"),
        "one paragraph where two belong": ("trace/b.cpp", lines_of(30, {9}), "at least 2"),
        "a blank line behind the brace only of a comment": ("trace/b.cpp", lines_of(12).replace("  step(4);", "  // why\n  step(4);"), "at least 1"),
        "no paragraph in a lambda": ("trace/b.cpp", "void f() {\n  g([&] {\n" + "    step();\n" * 12 + "  });\n}\n", "at least 1"),
        "a test without paragraph": ("tests/b_test.cpp", lines_of(12).replace("void f()", "TEST(A, B)"), ":1: test TEST(A, B) has 12"),
        "a brace too many": ("trace/b.cpp", "void f() {\n}\n}\n", ":3: this check cannot follow the braces"),
        "a brace too few": ("trace/b.cpp", "namespace a {\nvoid f() {\n}\n", ":1: this check cannot follow the braces"),
        "nested conditional": ("trace/b.cpp", "int f() {\n  return a ? b\n         : c ? d : e;\n}\n", ":3: ?: inside ?:"),
        "ruler": ("trace/b.cpp", "int x;\n// ---- Title ----\n", ":2: ruler comment"),
        "ruler line": ("trace/b.cpp", "int x;\n  //======\n", ":2: ruler comment"),
    }
    for name, (path, text, message) in [("a good tree", (None, None, None)), *bad.items()]:
        with tree.made_tree({**good, **({path: text} if path else {})}) as root:
            faults = [str(fault) for fault in check(root)]
        if path is None and faults or path and (len(faults) != 1 or not faults[0].startswith(path) or message not in faults[0]):
            failures.append(f"{name}: found {faults}")
    with tree.made_tree({"trace/a.cpp": lines_of(12), "trace/b.cpp": lines_of(60)}) as root, \
            tree.made_tree({"trace/a.cpp": lines_of(12, {4}), "trace/b.cpp": lines_of(60)}) as mended:
        failures += ratchet.self_test(check, root, "rhythm", PROGRAM, mended)
    for failure in failures:
        print(f"self-test: {failure}")
    print("check_rhythm: every planted fault is found" if not failures else f"check_rhythm: {len(failures)} cases failed")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = own if "--all" in arguments else next((each for each in arguments if not each.startswith("--")), own)
    if "--report" in arguments:
        return report(root)
    return ratchet.run(check(root), root, "rhythm", arguments, PROGRAM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
