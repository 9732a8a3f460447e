#!/usr/bin/env python3
"""Checks that pages in other languages have no English holes (reports/words/language.h): each sentence that the sources of the report
page write is in every catalogue reports/words/*.json, with the same placeholders, and catalogues have nothing that no source says.

usage: check_words.py [ROOT]           exit status 1 and one line a fault when there are any
       check_words.py --self-test      plants each fault in a made tree and looks whether it is found
       check_words.py --list [ROOT]    what has to be translated, as JSON
       check_words.py --prose …         how the words read: check_prose.py with the same arguments
"""
import glob
import json
import os
import re
import sys
import tempfile

# Of these every string that reads like words is on the page; of the others only what they give to tr().
PAGE_SOURCES = ["reports/html/*.cpp", "reports/html/sections/*.cpp", "reports/html/tuning/*.cpp", "reports/words/wording.cpp", "reports/words/findings/*", "reports/words/labels.cpp", "reports/words/run_notes.cpp",
                "reports/words/summary.cpp", "reports/words/metric_words.cpp", "reports/words/slowdown_words.cpp",
                "reports/text/waits.cpp", "reports/words/runs/scaling_words.cpp", "reports/words/runs/scaling_notes.cpp",
                "reports/words/runs/tuning_words.cpp", "reports/words/runs/replayed_curve_words.cpp"]
OTHER_SOURCES = ["reports/words/runs/comparison_words.cpp", "reports/words/host_words.cpp"]
SCRIPT_SOURCES = ["reports/web/src/*.ts", "reports/web/src/charts/*.ts"]
# From here on a source makes no words of the page: errors of the command line are English.
END_OF_PAGE = "std::string scaling_refusal("
# Strings that read like words and are none, or that are the same in all languages.
NOT_WORDS = re.compile(r'(^default-src )|(FLOP/s$)|(^\{\}log2)|(^,"[a-z]+":)|(^ data-[a-z]+$)|(^\{[^{}]*\} ms$)|(^MHz$)|(^[KMGT]iB$)|(^[MG]B/s$)')
# Compared with and never said.
KEYS = {"epoch", "PyTorch profiler", "PyTorch flight recorder", "XLA Ops", "XLA Modules", "Chrome trace", "XLA profiler", "AMD", "Instinct", "Radeon", "CUDA", "HIP",
        "(nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE)", "(amd-smi metric)"}
# Said by enumerations and metrics, not by a literal of the sources: "program" and "script" words that need no source.
NAMED_ELSEWHERE = "names"

CPP_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
TS_CALL = re.compile(r'\btr\(\s*"((?:[^"\\\n]|\\.)*)"')
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(\d*)(:[^{}]*)?\}")


def without_comments(text):
    """C++ without its comments and #include lines; strings stay."""
    pattern = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|^\s*#[^\n]*', re.S | re.M)
    return pattern.sub(lambda match: match.group(0) if match.group(0).startswith('"') else " ", text)


def unescaped(literal):
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match.group(1), match.group(1)), literal)


def literals(text):
    """(position, string) of every string, neighbours joined as the compiler joins them."""
    found = []
    end = -1
    for match in CPP_STRING.finditer(text):
        if found and end >= 0 and text[end:match.start()].strip() == "":
            found[-1] = (found[-1][0], found[-1][1] + unescaped(match.group(1)))
        else:
            found.append((match.start(), unescaped(match.group(1))))
        end = match.end()
    return found


def argument_end(text, start):
    """The end of the call's first argument; `start` is behind the parenthesis."""
    depth = 0
    at = start
    while at < len(text):
        match = CPP_STRING.match(text, at)
        if match:
            at = match.end()
            continue
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}" or (text[at] == "," and depth == 0):
            if depth == 0:
                return at
            depth -= 1
        at += 1
    return at


def reads_like_words(text):
    if "<" in text or '="' in text or "stepscope_" in text or NOT_WORDS.search(text):
        return False
    bare = PLACEHOLDER.sub("", text)
    return re.search(r"[A-Za-z]{2,}", bare) is not None and (" " in bare.strip() or bare[:1] in " ,;:." or bare[:1].isupper())


def words_of_source(text, whole_page):
    """(line, English) of what a C++ source says."""
    text = without_comments(text)
    found, nouns = [], {"more "}  # nouns of and_more()
    strings = literals(text)
    for match in re.finditer(r"\btr\(\s*", text):
        end = argument_end(text, match.end())
        found += [(at, string) for at, string in strings if match.end() <= at < end]
    for call, prefix in (("counted", "{} "), ("and_more", "{} more ")):
        for match in re.finditer(rf'\b{call}\([^"]*"([a-z -]*[a-z])"', text):
            nouns.add(match.group(1))
            found.append((match.start(), prefix + match.group(1)))
    if whole_page:
        until = text.find(END_OF_PAGE)
        found += [(at, string) for at, string in strings if (until < 0 or at < until) and reads_like_words(string)]
    return [(text.count("\n", 0, at) + 1, string) for at, string in found if string not in nouns | KEYS]


def sources(root, patterns):
    return sorted(path for pattern in patterns for path in glob.glob(os.path.join(root, pattern)))


def said(root):
    """English → where, of the program and of the script."""
    program, script = {}, {}
    for patterns, whole in ((PAGE_SOURCES, True), (OTHER_SOURCES, False)):
        for path in sources(root, patterns):
            with open(path, encoding="utf-8") as file:
                for line, english in words_of_source(file.read(), whole):
                    if PLACEHOLDER.sub("", english).strip():
                        program.setdefault(english, f"{os.path.relpath(path, root)}:{line}")
    for path in sources(root, SCRIPT_SOURCES):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for match in TS_CALL.finditer(text):
            script.setdefault(unescaped(match.group(1)), f"{os.path.relpath(path, root)}:{text.count(chr(10), 0, match.start()) + 1}")
    return program, script


def placeholders(text, is_script):
    """{number: format} of a sentence; the English ones of the program are numbered by their order."""
    result, next_number = {}, 0
    for match in PLACEHOLDER.finditer(text):
        if match.group(0) in ("{{", "}}"):
            continue
        number = match.group(1)
        if number == "" and not is_script:
            number, next_number = str(next_number), next_number + 1
        result[number] = "" if is_script else match.group(2) or ""
    return result


def without_doubles(pairs):
    result = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"{key!r} is there twice")
        result[key] = value
    return result


def check(root):
    program, script = said(root)
    faults = []
    for path in sources(root, ["reports/words/*.json"]):
        name = os.path.relpath(path, root)
        try:
            with open(path, encoding="utf-8") as file:
                words = json.load(file, object_pairs_hook=without_doubles)
        except ValueError as error:
            faults.append(f"{name}: {error}")
            continue
        everywhere = set(words[NAMED_ELSEWHERE])
        for part, needed in (("program", program), ("script", script)):
            known = words[part]
            faults += [f"{where}: {name} has no \"{part}\" words for {english!r}" for english, where in needed.items()
                       if english not in known]
            faults += [f"{name}: nothing says {english!r}, remove it" for english in known
                       if english not in needed and english not in everywhere]
            for english, translated in known.items():
                if placeholders(english, part == "script") != placeholders(translated, part == "script"):
                    faults.append(f"{name}: other placeholders than in {english!r}: {translated!r}")
                if not translated or re.search(r"[<>]", translated) and not re.search(r"[<>]", english):
                    faults.append(f"{name}: no words, or markup, for {english!r}: {translated!r}")
    return faults


def self_test():
    source = ('// "a comment, not words"\n#include "reports/words/language.h"\nvoid f() {\n  say(tr("{} of "\n    "{}", a, b), tr(x ? "yes" : "no"));\n'
              '  table.text("Device name", "row-id"); out += "<b>HTML is none</b>"; counted(n, "rank");\n}\n')
    script = 'button(tr("Zoom in"), tr("{0} rows", n));\n'
    good = {"names": ["kernel"],
            "program": {"{} of {}": "{1} 的 {0}", "yes": "是", "no": "否", "Device name": "设备名", "{} rank": "{0} 个 rank",
                        "kernel": "内核"},
            "script": {"Zoom in": "放大", "{0} rows": "{0} 行"}}

    def changed(part, english, translated):
        words = json.loads(json.dumps(good))
        words[part].pop(english, None)
        if translated is not None:
            words[part][english] = translated
        return words

    cases = {"": good, "no \"program\" words for '{} of {}'": changed("program", "{} of {}", None),
             "no \"program\" words for 'no'": changed("program", "no", None),
             "no \"program\" words for 'Device name'": changed("program", "Device name", None),
             "no \"program\" words for '{} rank'": changed("program", "{} rank", None),
             "no \"script\" words for 'Zoom in'": changed("script", "Zoom in", None),
             "nothing says 'gone'": changed("program", "gone", "没有"),
             "other placeholders": changed("program", "{} of {}", "{0} 的 {0}"),
             "no words, or markup": changed("program", "yes", "<b>是</b>")}
    failed = 0
    for fault, words in cases.items():
        with tempfile.TemporaryDirectory() as root:
            for path, text in (("reports/html/a.cpp", source), ("reports/web/src/a.ts", script),
                               ("reports/words/zh.json", json.dumps(words))):
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            faults = check(root)
            if not (any(fault in each for each in faults) if fault else not faults):
                failed += 1
                print(f"not found: {fault!r}; found: {faults}")
    print("check_words: every planted fault is found" if failed == 0 else f"check_words: {failed} faults are not found")
    return failed


def main(arguments):
    if arguments == ["--self-test"]:
        return 1 if self_test() else 0
    if arguments[:1] == ["--prose"]:
        import check_prose
        return check_prose.main(arguments[1:])
    root = next((argument for argument in arguments if not argument.startswith("--")), ".")
    if "--list" in arguments:
        print(json.dumps(dict(zip(("program", "script"), said(root))), ensure_ascii=False, indent=1))
        return 0
    faults = check(root)
    print("\n".join(faults) if faults else "check_words: every sentence has its words")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
