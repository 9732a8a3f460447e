#!/usr/bin/env python3
"""Checks the links of all documents: each leads to a file or folder of the repository, and to a heading that is there.

    python3 tests/check_links.py [ROOT] [--self-test]

Prints a line a fault, and exits with 1 where there is one. Addresses of the web are not asked for.
"""
import os
import re
import subprocess
import sys
import tempfile

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()\s]*\))?)\)")
CODE = re.compile(r"```.*?```|~~~.*?~~~|`[^`\n]*`", re.S)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")


def documents(root):
    """The tracked documents, or all where there is no git."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "*.md"], capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return listed.stdout.split("\n")[:-1]
    return sorted(os.path.relpath(os.path.join(folder, name), root)
                  for folder, _, names in os.walk(root) for name in names if name.endswith(".md"))


def anchors(path):
    """What GitHub makes of the headings of a page: lower case, no punctuation, blanks to hyphens; repeated ones are numbered."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"```.*?```", "", file.read(), flags=re.S)
    found = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    counts = {}

    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", text, flags=re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        seen = counts.get(slug, 0)
        counts[slug] = seen + 1
        found.add(f"{slug}-{seen}" if seen else slug)
    return found


def faults_of(root, name):
    """The links of a page that lead nowhere."""
    path = os.path.join(root, name)
    with open(path, encoding="utf-8") as file:
        text = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code.group()), file.read())

    for match in LINK.finditer(text):
        target, _, anchor = match.group(1).partition("#")
        line = text.count("\n", 0, match.start()) + 1
        if ELSEWHERE.match(target):
            continue
        goal = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not os.path.exists(goal):
            yield f"{name}:{line}: {target} is not there"
        elif anchor and goal.endswith(".md") and anchor not in anchors(goal):
            yield f"{name}:{line}: {target or name} has no heading #{anchor}"


def check(root):
    return [fault for name in documents(root) for fault in faults_of(root, name)]


def self_test():
    """Each planted fault is found, and nothing else is."""
    page = "# A page\n## Two words, `code`!\n## Twice\n## Twice\n[x](other.md#two-words-code) [y](#twice-1) `[no](link.md)` [web](https://a.b)\n"
    cases = {"": page, "gone.md is not there": page + "[z](gone.md)\n", "has no heading #three": page + "[z](other.md#three)\n",
             "page.md has no heading #four": page + "[z](#four)\n", "picture.svg is not there": page + "![p](picture.svg)\n"}
    failed = 0

    for fault, text in cases.items():
        with tempfile.TemporaryDirectory() as root:
            for name, content in (("page.md", text), ("other.md", page.replace("other.md", "page.md"))):
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(content)
            found = check(root)
            if not (len(found) == 1 and fault in found[0] if fault else not found):
                failed += 1
                print(f"not found: {fault!r}; found: {found}")
    return failed


def main(arguments):
    if "--self-test" in arguments:
        return 1 if self_test() else 0
    faults = check(arguments[0] if arguments else os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    print("\n".join(faults) if faults else "check_links: every link leads somewhere")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
