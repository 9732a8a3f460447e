#!/usr/bin/env python3
"""The drawings of docs/reference are what scripts/drawings draws; each fault that its --check looks for is found when planted."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = "docs/reference/FINDINGS.md"
PICTURE = "docs/reference/drawings/straggler.svg"


def check(root):
    """(exit status, lines) of main.py --check in this tree."""
    done = subprocess.run([sys.executable, "scripts/drawings/main.py", "--check"], cwd=root, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def replaced(old, new):
    def change(path):
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{path} has no {old}"
        path.write_text(text.replace(old, new), encoding="utf-8")
    return change


FAULTS = [
    (PICTURE, replaced("<title", "<title lang='en'"), "straggler.svg: differs"),
    (PICTURE, pathlib.Path.unlink, "straggler.svg: differs"),
    (PAGE, replaced("](drawings/straggler.svg)", "](drawings/other.svg)"), "drawings/other.svg is not there"),
    (PAGE, replaced("![One device comes late", "![A device comes late"), "the first paragraph of straggler"),
    ("docs/reference/DEFINITIONS.md", replaced("![One gap is split", "![A gap is split"), "the words of definition-idle-causes"),
    ("docs/reference/DEFINITIONS.md", replaced("## Runs (", "## Files\nOne.\n\n## Runs ("), "the section “Files” has no drawing"),
    (PAGE, replaced("## straggler\n", "## new-rule\n"), "the section new-rule has no drawing"),
    ("docs/reference/drawings/old.svg", lambda path: path.write_text("<svg/>", encoding="utf-8"), "old.svg: no module draws it"),
    ("scripts/drawings/findings_communication.py", replaced('"transfer")', '"transfer" * 9)'), "px"),
    ("scripts/drawings/palette.py", replaced('"#5a6270"', '"#a0a0a0"'), "muted on #ffffff has a contrast"),
    ("scripts/drawings/palette.py", replaced('"compute", "#0072b2"', '"compute", "#0072b3"'), "compute has #0072b3"),
    ("scripts/drawings/palette.py", replaced("\"#e69f00\", \"#f0b030\", \"rising\"", "\"#e69f00\", \"#f0b030\", \"level\""), "input is hatched “level”, in the report “rising”"),
    ("reports/web/report.css", replaced("--critical: #b3261e", "--critical: #b3261f"), "bad has #b3261e"),
]
READ = ("scripts/drawings", "docs/reference", "reports/words", "reports/web/report.css")


def main():
    failures = []
    status, lines = check(ROOT)
    if status != 0:
        failures.append(lines)

    with tempfile.TemporaryDirectory() as folder:
        for number, (name, plant, expected) in enumerate(FAULTS):
            tree = pathlib.Path(folder) / str(number)
            for part in READ:
                copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copyfile
                (tree / part).parent.mkdir(parents=True, exist_ok=True)
                copy(ROOT / part, tree / part)
            plant(tree / name)
            status, lines = check(tree)
            if status != 1 or expected not in lines:
                failures.append(f"{name}: not found, but expected: {expected}\n{lines}")

    print("\n".join(failures), end="\n" * bool(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
