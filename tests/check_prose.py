#!/usr/bin/env python3
"""Checks the prose of comments, docstrings, documents and the text that users read: sentences have a subject and at most 30
words, an actor where something is reported, and the field's words instead of coined ones. The median of the full sentences of
a page is at most 18 words.

usage: check_prose.py [ROOT]             exit status 1 and one line a fault that tests/ratchets/prose.txt does not allow
       check_prose.py --all [PATH…]      every fault, in these files and folders only
       check_prose.py --shrink           writes the smaller counts of a tree with fewer faults
       check_prose.py --create           writes the ratchet for the first time
       check_prose.py --list PATH        the sentences that the check sees, with their kind
       check_prose.py --medians          the median of each page: full sentences, words
       check_prose.py --self-test        plants each fault in a made tree and looks whether it is found
"""
import os
import re
import statistics
import sys

sys.dont_write_bytecode = True
from guards import prose_text, ratchet, tree
from guards.ratchet import Fault

PROGRAM = "tests/check_prose.py"
MAX_WORDS = 30
MAX_MEDIAN_WORDS = 18
MEDIAN_PAGE = re.compile(r"docs/(?:guide|reference)/.*\.md|README\.md")
# Readers of a guide read its commands, too: there a code span counts with all of its words. Elsewhere it is one word.
COUNTS_CODE = "docs/guide/"
# A full sentence has an end and at least four words. Shorter ones are remarks in tables, such as "Default 2."
FULL_SENTENCE_END = re.compile(r"[.!?][\"”')*]*$")
LEAST_FULL_WORDS = 4
NOT_READ = ("tests/guards", "tests/check_", "tests/fuzz/corpus")

# Sentences that begin so have no subject. "Of course" and "By default" are no such begin.
OPENINGS = [
    (re.compile(r"^[\"“'(*]*Of\b(?! course)"), "name the subject first: The X of …"),
    (re.compile(r"^[\"“'(*]*By\b(?!-| (?:default|convention|design|definition|hand|contrast|then|now|itself)\b)(?! \w+(?: \w+)?$)"),
     "name the subject first, then how: X is found by …"),
    (re.compile(r"^[\"“'(*]*That\b(?! (?:way|is why|is,))"), "name the subject, or join the two sentences"),
    (re.compile(r"^[\"“'(*]*Those\b(?= (?:of|that|which|who|whose|with|without|from|in|on|at|are|is|as|one|than|beside|beyond)\b)"),
     "name them: Threads that …"),
    (re.compile(r"^[\"“'(*]*What of\b"), "name it: The part of X that …"),
]
# Help of an option and a whole-line comment begin like a sentence even where they are not capitalized.
SMALL_OPENING = re.compile(r"^(of|those|what of)\b(?! course)")

# Phrases without an actor, and coined words in their coined meaning.
PHRASES = [
    (r"\b(?:is|are|was|were|be|been|being) said\b", "say who reports it: Stepscope reports …"),
    (r"\b(?:is|are|was|were|be|been|being) told\b(?! apart)", "say who reports what: reported by, known from, passed to"),
    (r"(?<!there )\b(?:is|are) none\b(?! of (?:them|these|those|the|its|our))", "no …, or: is not a …"),
    (r"\bnobody\b", "name the actor: no caller, no thread, no reader"),
    (r"\bwhoever\b", "name the actor: the caller, the thread that …"),
    (r"(?<!\beach )(?<!\bone )(?<!\ball )(?<!\bboth )(?<!\bmost )(?<!\bsome )(?<!\bmany )(?<!\bnone )(?<!\beither )(?<!\bfew )"
     r"(?<!\bany )(?<!\bhalf )(?<!\btwo )(?<!\b\d )(?<!\{\} )\bof which\b(?! \w+\?)",
     "whose …, or two sentences"),
    (r"\bof those that\b", "name them, or give numbers"),
    (r"\b(?-i:what) of (?:it|them|the|a|an|its|that|this|one|each)\b", "the part of X that …"),
    (r"\bbeside the\b", "next to, besides, compared with, on another thread: say which"),
    # "made device" is the name of a device in recorded files, and files keep their bytes.
    (r"\bmade (?:run|job|trace|series|machine)s?\b", "synthetic …"),
    (r"\bfrom afar\b", "at reduced detail"),
    (r"\bwithout rest\b", "an exact breakdown: the parts sum to the whole"),
    (r"(?<!how )(?<!so )(?<!as )(?<!too )\bfar runs?\b", "out-of-core run"),
    (r"\bnear runs?\b", "in-memory run"),
    (r"\bwish(?:es)?\b(?! to\b)", "request"),
    (r"\bmeetings?\b", "collective join, collective instance"),
    (r"\b(?:is|are|was|were|be|been) let go\b", "released, disposed of, detached"),
    (r"\bheld against\b", "compared with"),
    (r"\bheld (?:clocks?|down|steps?)\b", "throttled (a clock), after a pause (a step)"),
]
PHRASES = [(re.compile(pattern, re.I), better) for pattern, better in PHRASES]
# Cheap: most sentences hold none of these.
ANY_PHRASE = re.compile("|".join(f"(?:{pattern.pattern})" for pattern, _ in PHRASES), re.I)


def without_addresses(sentence):
    """A link becomes its text."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", sentence)


def without_code(sentence):
    """A code span becomes one word, a link its text."""
    return without_addresses(re.sub(r"`[^`]*`", "code", sentence))


def blanked_code(text):
    """The text in one line, at the same offsets, without code spans and addresses of links."""
    text = re.sub(r"`[^`]*`|\]\([^()]*\)", lambda match: "`" * len(match.group(0)), text)
    return text.replace("\n", " ")


def word_count(sentence):
    """Marks without a letter or digit are no words."""
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


def shown(sentence):
    words = sentence.split()
    return " ".join(words[:8]) + (" …" if len(words) > 8 else "")


def opening_of(passage, sentence, is_first):
    """The better opening, or None."""
    if sentence.endswith("?") or passage.kind == "heading":
        return None
    for pattern, better in OPENINGS:
        if pattern.match(sentence):
            return better
    if is_first and passage.kind in ("help", "comment") and SMALL_OPENING.match(sentence):
        return "name the subject first"
    return None


def check_passage(path, passage):
    faults = []
    for index, (line, sentence) in enumerate(passage.sentences()):
        better = opening_of(passage, sentence, index == 0)
        if better:
            faults.append(Fault(path, line, "opening", f'"{shown(sentence)}": {better}'))
        if len(sentence) > 2 * MAX_WORDS:
            count = word_count(without_addresses(sentence) if path.startswith(COUNTS_CODE) else without_code(sentence))
            if count > MAX_WORDS:
                faults.append(Fault(path, line, "long-sentence", f'"{shown(sentence)}": {count} words, the limit is {MAX_WORDS}: one idea a sentence'))
    text = blanked_code(passage.text)
    if ANY_PHRASE.search(text):
        for pattern, better in PHRASES:
            for match in pattern.finditer(text):
                faults.append(Fault(path, passage.line_at(match.start()), "phrase", f'"{match.group(0)}": {better}'))
    return faults


def full_sentence_lengths(passages):
    """Words of each full sentence, code spans with all of their words."""
    sentences = [sentence for passage in passages if passage.kind == "document" for _, sentence in passage.sentences()]
    lengths = [word_count(without_addresses(sentence)) for sentence in sentences if FULL_SENTENCE_END.search(sentence)]
    return [length for length in lengths if length >= LEAST_FULL_WORDS]


def check_median(path, passages):
    lengths = full_sentence_lengths(passages)
    median = statistics.median(lengths) if lengths else 0
    if median <= MAX_MEDIAN_WORDS:
        return []
    return [Fault(path, 0, "median", f"its {len(lengths)} full sentences have a median of {median:g} words, the limit is {MAX_MEDIAN_WORDS}: "
                                     "shorten or split the longest")]


def check(root):
    faults = []
    for path in tree.files(root, prose_text.ENDINGS):
        if path.startswith(NOT_READ):
            continue
        passages = prose_text.of_file(root, path)
        for passage in passages:
            faults += check_passage(path, passage)
        if MEDIAN_PAGE.fullmatch(path):
            faults += check_median(path, passages)
    return faults


def self_test():
    words = " ".join(["word"] * 29)
    half = " ".join(["word"] * 17)

    def sentence(count):
        return " ".join(["Word"] + ["word"] * (count - 1)) + "."

    good = {
        "trace/a.cpp": "// Of course. By default it waits. By hand. That way it waits. Those files wait. What of it? There is none. Of which run?\n"
                       "// The reader counts 3 threads, one of which waits. They are told apart. It is none of them. " + words.capitalize() + ".\n"
                       "int x;  ///< by track\n// How far runs vary is known.\n"
                       'char const* sql = "SELECT a FROM t WHERE nobody";\nauto k = "of the step {}";\nauto l = "By kernel";\n'
                       'char const* key = "nobody";\n#include "of/by nobody whoever.h"\n'
                       "//   name      " + words + "\n//   other     " + words + "\n// The first `a b nobody` " + words[25:] + ", e.g. Word word.\n",
        "tests/unit/a_test.cpp": 'TEST(A, B) { f("nobody is said to be told"); }\n',
        "docs/a.md": "# Of readers\n## By what\n\n```\nnobody\n```\n| " + words + " | " + words + " |\n\n* " + words + "\n* " + words + "\n",
        "scripts/a.py": '"""The doc.\n\n  command   ' + words + '\n"""\nx = "nobody is said"  # a comment\n',
        "scripts/a.sh": "#!/bin/bash\n# Waits.\necho nobody\n",
        "docs/b.md": f"See [{words}](of/which/nobody.md). {words.capitalize()}.\n\n"
                     f"{half.capitalize()} now. `--code` {half}. [word](a.md) {half}.\n\nThe span `{words} and more` is one word.\n",
        "docs/guide/a.md": f"{sentence(18)} {sentence(18)} {sentence(30)} Default 2. `--code` {half}.\n",
        "docs/reference/a.md": "| key | " + "word " * 25 + "|\n|---|---|\n",
    }
    long = "// W" + "\n// ".join(["word word word word word word word word word word"] * 3) + " word.\n"
    bad = {
        "Of": ("trace/b.cpp", "// Fine.\n/// Reads it. Of a file: how far.\n", ':2: "Of a file: how far.": name the subject'),
        "By": ("trace/b.cpp", "// By how much\n// the op is sooner.\n", ':1: "By how much'),
        "That": ("trace/b.cpp", "/* It waits.\n * That is no limit. */\n", ':2: "That is no limit.'),
        "Those": ("trace/b.cpp", "int x;  // Those of the scene.\n", ':1: "Those of the scene.'),
        "What of": ("trace/b.cpp", "// What of the events shows.\n", "What of"),
        "an opening behind a quote": ("trace/b.cpp", "// It waits (see below). (Of a file.)\n", '"(Of a file.)"'),
        "a small opening in a comment": ("trace/b.cpp", "/// of a series: what the work is for\nint x;\n", '"of a series'),
        "a small opening in help": ("cli/b.cpp", 'void f() {\n  app.add_option("--strong", x,\n                 "of a series: what " + g(")")\n                     );\n}\n',
                                    ':3: "of a series'),
        "an opening in a string": ("reports/b.cpp", 'auto x = "It waits. "\n    "Of the steps one is late.";\n', ':2: "Of the steps one'),
        "is said": ("trace/b.cpp", "// What is lost is\n// said.\n", '"is said": say who'),
        "is told in a string": ("reports/b.cpp", 'auto x = "what is told here";\n', ':1: "is told"'),
        "a string in a raw string": ("reports/b.cpp", 'auto x = R"(one line\n\nnobody waits)";\n', ':3: "nobody"'),
        "is none": ("trace/b.cpp", "int x;  ///< −1: it is none\n", '"is none"'),
        "of which": ("trace/b.cpp", "// A thread of which no name is known.\n", '"of which"'),
        "a trailing comment that goes on": ("trace/b.cpp", "int x;  ///< a thread of\n        ///< which no name is known\n", ':1: "of which"'),
        "nobody in a document": ("docs/c.md", "# A\n\nA line,\nwhich nobody reads.\n", ':4: "nobody"'),
        "nobody in a heading": ("docs/c.md", "# What nobody reads\n", ':1: "nobody"'),
        "in a cell": ("docs/c.md", "| a | b |\n|---|---|\n| key | made run |\n", ':3: "made run": synthetic'),
        "in a docstring": ("scripts/b.py", '"""Reads.\n\nWhoever calls waits."""\n', ':3: "Whoever"'),
        "in a docstring of a function": ("scripts/b.py", 'def f():\n    """Of a run."""\n', ':2: "Of a run."'),
        "in a comment of Python": ("scripts/b.py", "x = 1\n# That is no limit.\n", ':2: "That is no limit.'),
        "in a shell comment": ("scripts/b.sh", "# from afar\n", '"from afar": at reduced detail'),
        "in CMake": ("tests/x/CMakeLists.txt", "set(a b)\n# from afar\n", ':2: "from afar"'),
        "in TypeScript": ("reports/web/src/b.ts", 'x;\n// from afar\n', ':2: "from afar"'),
        "in a string of TypeScript": ("reports/web/src/b.ts", 'tr("look from afar");\n', ':1: "from afar"'),
        "in markup": ("reports/b.cpp", 'auto x = "<p class=\\"a\\">It waits.</p><p>Of a <b>file</b>.</p>";\n', '"Of a file'),
        "behind a placeholder": ("reports/b.cpp", 'auto x = "{} ranks, nobody else";\n', ':1: "nobody"'),
        "in a schema": ("docs/b.schema.json", '{\n "description": "from afar"}\n', ':2: "from afar"'),
        "a long sentence": ("trace/b.cpp", "// Short.\n" + long, ':2: "Wword word word word word word word word …": 31 words'),
        "a long string": ("reports/b.cpp", 'auto x = "' + "word " * 20 + '"\n  "' + "word " * 11 + '";\n', "31 words"),
        "a long paragraph of a document": ("docs/c.md", words + "\nand and.\n", "31 words"),
        "a long sentence behind a code span": ("docs/c.md", "It waits.\n`--code` " + words + "\nand.\n", ':2: "`--code` word word'),
        "a long command in a guide": ("docs/guide/c.md", f"{sentence(9)} {sentence(9)}\nThe command `{words}` waits.\n", ":2: \"The command"),
        "the median of a guide": ("docs/guide/c.md", f"{sentence(19)} {sentence(4)} {sentence(19)} Default 2.\n",
                                  "3 full sentences have a median of 19 words, the limit is 18"),
        "the median of a reference": ("docs/reference/c.md", f"{sentence(17)} {sentence(20)}\n", "median of 18.5 words"),
        "the median of the readme": ("README.md", f"{sentence(5)}\n\n* {sentence(20)}\n* {sentence(20)}\n", "median of 20 words"),
    }
    failures = []
    for name, (path, text, message) in [("a good tree", (None, None, None)), *bad.items()]:
        with tree.made_tree({**good, **({path: text} if path else {})}) as root:
            faults = [str(fault) for fault in check(root)]
        if path is None and faults or path and (len(faults) != 1 or not faults[0].startswith(path) or message not in faults[0]):
            failures.append(f"{name}: found {faults}")
    with tree.made_tree({"trace/a.cpp": "// nobody\n", "trace/b.cpp": "// nobody\n\n// nobody\n"}) as root, \
            tree.made_tree({"trace/a.cpp": "// no thread\n", "trace/b.cpp": "// nobody\n\n// nobody\n"}) as mended:
        failures += ratchet.self_test(check, root, "prose", PROGRAM, mended)
    for failure in failures:
        print(f"self-test: {failure}")
    print("check_prose: every planted fault is found" if not failures else f"check_prose: {len(failures)} cases failed")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if arguments[:1] == ["--list"]:
        for path in arguments[1:]:
            for passage in prose_text.of_file(own, path):
                for line, sentence in passage.sentences():
                    print(f"{path}:{line}: {passage.kind}: {sentence}")
        return 0
    if arguments == ["--medians"]:
        for path in filter(MEDIAN_PAGE.fullmatch, tree.files(own, (".md",))):
            lengths = full_sentence_lengths(prose_text.of_file(own, path))
            print(f"{path}: {len(lengths)} full sentences, median {statistics.median(lengths or [0]):g} words")
        return 0
    root = own if "--all" in arguments else next((each for each in arguments if not each.startswith("--")), own)
    return ratchet.run(check(root), root, "prose", arguments, PROGRAM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
