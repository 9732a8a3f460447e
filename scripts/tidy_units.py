#!/usr/bin/env python3
"""What scripts/tidy.sh gives to clang-tidy, and where what it finds really stands.

  tidy_units.py units BUILD_FOLDER PATH…     writes BUILD_FOLDER/tidy/compile_commands.json and prints the units, the largest first
  tidy_units.py check BUILD_FOLDER UNIT      ends as scripts/tidy_unit.sh, or ccache before it, which knows units that have not changed
  tidy_units.py places BUILD_FOLDER < FAULTS > the same with the places of the sources

The build compiles several sources as one (CMAKE_UNITY_BUILD), which saves clang-tidy most of the headers. But the static analyzer
follows the paths through functions only where they stand in the main file. So a unit is not a list of #includes as CMake's are, but
the sources' text, one after the other.
"""
import json
import os
import re
import shlex
import shutil
import sys


def sources_of(path):
    """The sources that a file of the build stands for."""
    if os.sep + "Unity" + os.sep not in path:
        return [path]
    with open(path, encoding="utf-8") as unity:
        named = re.findall(r'^#include "(.*)"$', unity.read(), re.MULTILINE)
    return [os.path.normpath(os.path.join(os.path.dirname(path), source)) for source in named]


def write_units(build, roots):
    made = os.path.abspath(build) + os.sep
    folder = os.path.join(made, "tidy")
    os.makedirs(folder, exist_ok=True)
    roots = [os.path.abspath(root) for root in roots]
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    taken, commands, places, sizes = set(), [], {}, {}

    def is_ours(source):
        return source.endswith(".cpp") and os.path.exists(source) and not source.startswith(made)

    for entry in entries:
        path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        # Sources that the build makes (the embedded page) are not checked. One that several targets compile is checked once.
        sources = [source for source in sources_of(path) if is_ours(source) and source not in taken]
        if not any(source == root or source.startswith(root + os.sep) for source in sources for root in roots):
            continue
        taken.update(sources)
        name = os.path.join(folder, f"{len(commands)}.cpp")
        text, starts = "", []
        for source in sources:
            starts.append([text.count("\n"), os.path.relpath(source)])
            with open(source, encoding="utf-8") as file:
                text += file.read().rstrip("\n") + "\n"
        # What has not changed keeps its time.
        if not os.path.exists(name) or open(name, encoding="utf-8").read() != text:
            with open(name, "w", encoding="utf-8") as unit:
                unit.write(text)
        places[name], sizes[name] = starts, len(text)
        command = dict(entry, file=name)
        if "command" in entry:
            command["command"] = entry["command"].replace(entry["file"], name)
        if "arguments" in entry:
            command["arguments"] = [name if word == entry["file"] else word for word in entry["arguments"]]
        commands.append(command)
    with open(os.path.join(folder, "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(commands, file)
    with open(os.path.join(folder, "places.json"), "w", encoding="utf-8") as file:
        json.dump(places, file)
    print("\n".join(sorted(sizes, key=sizes.get, reverse=True)))


def check_unit(build, name):
    made = os.path.abspath(build)
    with open(os.path.join(made, "tidy", "compile_commands.json"), encoding="utf-8") as file:
        entry = next(entry for entry in json.load(file) if entry["file"] == name)
    words = entry["arguments"] if "arguments" in entry else shlex.split(entry["command"])
    words[words.index("-o") + 1] = name + ".clean"

    command = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "tidy_unit.sh"), *words[1:]]
    cache = shutil.which("ccache")
    if cache:
        # A verdict names no folder: that of another clone is as good.
        os.environ.update(CCACHE_COMPILERTYPE="clang", CCACHE_COMPILERCHECK="%compiler% --version", CCACHE_NOHASHDIR="1")
        command.insert(0, cache)
    os.chdir(entry["directory"])
    os.execv(command[0], command)


def print_places(build):
    with open(os.path.join(build, "tidy", "places.json"), encoding="utf-8") as file:
        places = json.load(file)

    def place(match):
        path, line = os.path.normpath(match[1]), int(match[2])
        begin, source = max((start for start in places.get(path, []) if start[0] < line), default=[0, os.path.relpath(path)])
        return f"{source}:{line - begin}:"

    for fault in sys.stdin:
        sys.stdout.write(re.sub(r"^(/[^:]*):(\d+):", place, fault))


if __name__ == "__main__":
    if len(sys.argv) > 3 and sys.argv[1] == "units":
        write_units(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) == 4 and sys.argv[1] == "check":
        check_unit(sys.argv[2], sys.argv[3])
    elif len(sys.argv) == 3 and sys.argv[1] == "places":
        print_places(sys.argv[2])
    else:
        sys.exit(__doc__)
