#!/usr/bin/env python3
"""The workflow of a release calls scripts that are there, in an order that works, and its files are what the scripts make."""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)


def check_workflow():
    try:
        import yaml
    except ImportError:
        return
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    steps = workflow["jobs"]["build"]["steps"]
    commands = "\n".join(step.get("run", "") for step in steps)
    scripts = re.findall(r"(scripts/\S+\.sh)((?: --\w+)*)", commands)
    expect([name for name, _ in scripts] == ["scripts/package.sh", "scripts/package.sh", "scripts/wheel.sh", "scripts/gather_release.sh"],
           f"the workflow calls {scripts}")
    for name, options in scripts:
        path = ROOT / name
        expect(path.exists(), f"{name} is not there")
        for option in options.split():
            expect(f"{option})" in path.read_text(), f"{name} knows no {option}")
    expect(workflow[True] == {"push": {"tags": ["v*"]}}, "only tags make a release")


def check_version():
    """The expression that the workflow and the script read it with."""
    text = (ROOT / "CMakeLists.txt").read_text()
    found = re.search(r"^project\(stepscope VERSION ([0-9.]+)", text, re.MULTILINE)
    expect(found is not None, "CMakeLists.txt says no version")


def check_container():
    text = (ROOT / "Containerfile").read_text()
    pattern = re.search(r"^ADD (\S+)", text, re.MULTILINE).group(1)
    package = (ROOT / "scripts/package.sh").read_text()
    expect('name=stepscope-$version-linux-x86_64' in package and '"build/portable/$name.tar.gz"' in package,
           "package.sh makes another file than the Containerfile adds")
    expect(pattern == "build/portable/stepscope-*-linux-x86_64.tar.gz", f"the Containerfile adds {pattern}")


def check_refusal():
    """Without the files nothing is gathered, and the message says what to run."""
    with tempfile.TemporaryDirectory() as folder:
        clone = pathlib.Path(folder)
        (clone / "scripts").mkdir()
        for name in ("common.sh", "gather_release.sh"):
            (clone / "scripts" / name).write_bytes((ROOT / "scripts" / name).read_bytes())
        (clone / "CMakeLists.txt").write_text((ROOT / "CMakeLists.txt").read_text())
        made = subprocess.run(["bash", "scripts/gather_release.sh", "out"], cwd=clone, capture_output=True, text=True, check=False)
        expect(made.returncode == 2 and "run first: scripts/package.sh" in made.stderr, f"gather_release.sh: {made.stderr}")
        expect(not (clone / "out").exists(), "a folder is left behind")


check_workflow()
check_version()
check_container()
check_refusal()
for failure in failures:
    print(failure)
print(f"{len(failures)} faults")
sys.exit(1 if failures else 0)
