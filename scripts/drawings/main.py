#!/usr/bin/env python3
"""Draws the pictures of docs/reference: docs/reference/drawings/NAME.svg.

usage: main.py [NAME…]           writes these drawings (default: all)
       main.py --check [NAME…]   exit status 1 and one line a fault: a drawing that differs from what this script draws, a section of
                                 FINDINGS.md without its picture, a picture with other words than its drawing, an SVG without a title,
                                 text that covers other text, a colour that the report does not have
"""
import importlib
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
import palette

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs/reference"
FOLDER = REFERENCE / "drawings"
# Each module has DRAWINGS: {name: a function that returns a Drawing}.
MODULES = ("findings_host", "findings_communication", "findings_work", "findings_memory", "findings_run",
           "definitions_time", "definitions_device", "definitions_ranks", "definitions_comparison", "definitions_files")
# Documents with the pictures of each section `## rule-id`.
SECTION = re.compile(r"^## ([a-z-]+)$", re.MULTILINE)
SVG = "{http://www.w3.org/2000/svg}"


def all_drawings():
    """{name: function} of all modules; two drawings of one name are a mistake in them."""
    drawings = {}
    for name in MODULES:
        for key, draw in importlib.import_module(name).DRAWINGS.items():
            if key in drawings:
                raise ValueError(f"two drawings are named {key}")
            drawings[key] = draw
    return drawings


def check_sections():
    """Each section on a rule has its picture under its first paragraph, with the words of the drawing."""
    known = all_drawings()
    text = (REFERENCE / "FINDINGS.md").read_text(encoding="utf-8")
    parts = SECTION.split(text)[1:]

    faults = []
    for name, body in zip(parts[::2], parts[1::2]):
        paragraphs = body.strip().split("\n\n")
        if name not in known:
            faults.append(f"docs/reference/FINDINGS.md: the section {name} has no drawing")
            continue
        expected = f"![{known[name]().alternative()}](drawings/{name}.svg)"
        if len(paragraphs) < 2 or paragraphs[1] != expected:
            faults.append(f"docs/reference/FINDINGS.md: under the first paragraph of {name} stands not: {expected}")
    return faults


def check_links():
    """Each picture that a page of the reference shows is there, and each one that is there is drawn by this script."""
    faults = []
    for page in sorted(REFERENCE.glob("*.md")):
        shown = re.findall(r"\]\((drawings/[^)]+)\)", page.read_text(encoding="utf-8"))
        faults += [f"docs/reference/{page.name}: {target} is not there" for target in shown if not (REFERENCE / target).exists()]

    known = all_drawings()
    faults += [f"docs/reference/drawings/{path.name}: no module draws it" for path in sorted(FOLDER.glob("*")) if path.stem not in known]
    return faults


def check_words():
    """Pages other than FINDINGS.md, too, say in place of a picture what its drawing says; each drawing is on a page."""
    known = all_drawings()
    faults, shown = [], set()
    for page in sorted(REFERENCE.glob("*.md")):
        pictures = re.findall(r"!\[([^\]]*)\]\(drawings/([^)]+)\.svg\)", page.read_text(encoding="utf-8"))
        shown.update(name for _, name in pictures)
        for words, name in pictures:
            if page.name != "FINDINGS.md" and name in known and words != known[name]().alternative():
                faults.append(f"docs/reference/{page.name}: the words of {name} are not: {known[name]().alternative()}")

    faults += [f"docs/reference/drawings/{name}.svg: no page shows it" for name in sorted(set(known) - shown)]
    return faults + sections_without_picture()


def sections_without_picture():
    """Each section of DEFINITIONS.md has a drawn example."""
    parts = re.split(r"^## (.+)$", (REFERENCE / "DEFINITIONS.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return [f"docs/reference/DEFINITIONS.md: the section “{title}” has no drawing" for title, body in zip(parts[::2], parts[1::2])
            if "](drawings/" not in body]


def check_colours():
    """The drawings have the report's colours (labels.cpp, report.css)."""
    labels = (ROOT / "reports/words/labels.cpp").read_text(encoding="utf-8").lower()
    style = (ROOT / "reports/web/report.css").read_text(encoding="utf-8")
    of_parts = set(re.findall(r"0x([0-9a-f]{6}),\s*0x([0-9a-f]{6})", labels))
    names = re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", style)
    light = dict(reversed(names))
    of_page = {(light[name][1:], value[1:]) for name, value in names if value != light[name]}

    known = of_parts | of_page
    colours = {name: (kind[1], kind[2]) for name, kind in palette.KINDS.items()} | {name: ink for name, ink in palette.INKS.items() if name != "good"}
    faults = [f"scripts/drawings/palette.py: {name} has {one} and {other}, which the report does not have"
              for name, (one, other) in colours.items() if (one[1:], other[1:]) not in known]

    hatches = dict(re.findall(r'\{"([a-z_]+)"[^}]*hatch::k([a-z]+)\}', labels))
    return faults + [f"scripts/drawings/palette.py: {name} is hatched “{kind[3]}”, in the report “{hatches.get(name, '')}”"
                     for name, kind in palette.KINDS.items() if kind[3] != hatches.get(name, "")]


def check_document(path, text):
    """Screen readers get a title and a description."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        return [f"{path}: {error}"]
    faults = [] if root.get("role") == "img" else [f'{path}: role is not "img"']
    return faults + [f"{path}: no <{name}>" for name in ("title", "desc") if not (root.findtext(SVG + name) or "").strip()]


def main(arguments):
    is_check = "--check" in arguments
    names = [argument for argument in arguments if argument != "--check"]
    drawings = all_drawings()
    unknown = [name for name in names if name not in drawings]
    if unknown:
        print(f"no drawing has the name {', '.join(unknown)}; the names are {', '.join(sorted(drawings))}")
        return 2

    faults = [f"scripts/drawings/palette.py: {fault} has a contrast below {palette.MIN_CONTRAST}" for fault in palette.faults()]
    for name in names or sorted(drawings):
        drawing = drawings[name]()
        path, text = FOLDER / f"{name}.svg", drawing.document()
        shown = path.relative_to(ROOT)
        faults += [f"{shown}: {problem}" for problem in drawing.problems()] + check_document(shown, text)
        if not is_check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            faults.append(f"{shown}: differs from what is drawn: run scripts/drawings/main.py {name}")

    faults += check_sections() + check_links() + check_words() + check_colours() if is_check else []
    print("\n".join(faults), end="\n" * bool(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
