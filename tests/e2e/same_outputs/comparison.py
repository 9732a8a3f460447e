"""Whether two outputs are the same, where they first differ, and which differences a list allows.

An output is bytes with a name. Most are compared byte by byte. A report's page is compared without its styles and its program, which are
an output of their own; a database whose bytes differ is compared by its dump.
"""

import dataclasses
import os
import re
import sqlite3
import tempfile

# What two runs of one program do not write alike: the time of a JUnit file, the random word that ends a text on GitHub.
VOLATILE = ((re.compile(rb' timestamp="[^"]*"'), b' timestamp=""'),
            (re.compile(rb"stepscope-[0-9a-f]{32}"), b"stepscope-RANDOM"))
EXCERPT = 70
NEWLINE = b"\n"
BINARY = (".stepscope", ".pftrace")


@dataclasses.dataclass(frozen=True)
class Difference:
    where: str
    old: str
    new: str


class Allowed:
    """What may differ, a rule a line of a file:
    line REGEX           lines that match are left out of both texts (a REGEX alone means the same)
    old REGEX => TEXT    the old program's text is rewritten: a renamed word
    new REGEX => TEXT    the new program's text is rewritten; an empty TEXT takes out what was added
    whitespace           from here on a run of spaces and line breaks is one space: words of other lengths move them
    output REGEX         outputs whose name matches may differ altogether
    Empty lines and those that begin with # are comments. The rules apply in their order, only where outputs differ; of them, only
    "output" applies to binary outputs.
    """

    def __init__(self, lines=()):
        texts = [line.rstrip("\n") for line in lines]
        self.rules = [self._rule(text) for text in texts if text.strip() and not text.startswith("#")]
        kinds = [kind for kind, *_ in self.rules]
        if "whitespace" in kinds and "line" in kinds[kinds.index("whitespace"):]:
            raise ValueError("rules of lines must stand in front of the rule of whitespace, which leaves no lines")

    @staticmethod
    def _rule(text):
        if text.strip() == "whitespace":
            return "whitespace", re.compile(rb"\s+"), b" "
        if rewrite := re.fullmatch(r"(old|new) (.+?) =>(?: (.*))?", text):
            return rewrite[1], re.compile(rewrite[2].encode(), re.MULTILINE), (rewrite[3] or "").encode()
        if output := re.fullmatch(r"output (.+)", text):
            return "output", re.compile(output[1]), b""
        return "line", re.compile(text.removeprefix("line ").encode()), b""

    def apply(self, side, text):
        for kind, pattern, replacement in self.rules:
            if kind in (side, "whitespace"):
                text = pattern.sub(replacement, text)
            elif kind == "line":
                text = b"\n".join(line for line in text.split(b"\n") if not pattern.search(line))
        return text

    def output(self, name):
        return any(kind == "output" and pattern.search(name) for kind, pattern, _ in self.rules)


def split_page(page):
    """A report's page in two: what it shows, and the styles and the program that show it (with their hash)."""
    bundle = []

    def take(match):
        bundle.append(match[0])
        return b""
    shown = re.sub(rb"<style>.*?</style>|<script>.*?</script>|'sha256-[^']*'", take, page, flags=re.DOTALL)
    return shown, b"\n".join(bundle)


def dump(database):
    """A database as SQL, its schema included; a damaged one as what is wrong with it."""
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as file:
        file.write(database)
        file.flush()
        try:
            with sqlite3.connect(f"file:{file.name}?mode=ro", uri=True) as connection:
                connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
                return "\n".join(connection.iterdump()).encode("utf-8", "surrogateescape")
        except sqlite3.Error as error:
            return f"no database: {error}".encode()


def parts(name, content):
    """An output as parts that are compared each alone: pairs of a name and bytes."""
    extension = os.path.splitext(name)[1]
    if extension == ".html":
        shown, bundle = split_page(content)
        return [(name, shown), (f"{name} styles and program", bundle)]
    if extension == ".sqlite":
        return [(f"{name} dump", dump(content))]
    return [(name, content)]


def first_difference(old, new):
    """Offset of the first byte that differs."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def describe(name, old, new):
    offset = first_difference(old, new)
    if name.endswith(BINARY):
        return Difference(f"{name}, byte {offset} of {len(old)}, {len(new)}", old[offset:offset + 16].hex(), new[offset:offset + 16].hex())
    line_begin = old.rfind(b"\n", 0, offset) + 1
    shown_from = max(line_begin, offset - EXCERPT // 2)
    where = f"{name}, line {old.count(NEWLINE, 0, offset) + 1}, byte {offset}"

    def excerpt(text):
        line = text[shown_from:].split(b"\n", 1)[0][:EXCERPT]
        return line.decode("utf-8", "backslashreplace") or ("an empty line" if len(text) > shown_from else "the end")
    return Difference(where, excerpt(old), excerpt(new))


def without_volatile(text):
    for pattern, replacement in VOLATILE:
        text = pattern.sub(replacement, text)
    return text


def compare(name, old, new, allowed):
    """The differences between OLD, the bytes of one program, and NEW, those of the other; None: the program did not write them.
    Also returns whether differences were allowed."""
    if old == new:
        return [], False
    if old is None or new is None:
        if allowed.output(name):
            return [], True
        return [Difference(name, *("not written" if side is None else f"{len(side)} bytes" for side in (old, new)))], False

    differences, some_allowed = [], False
    for (part, before), (_, after) in zip(parts(name, old), parts(name, new)):
        is_text = not part.endswith(BINARY)
        if is_text:
            before, after = without_volatile(before), without_volatile(after)
        if before == after:
            continue

        if is_text:
            before, after = allowed.apply("old", before), allowed.apply("new", after)
        if before == after or allowed.output(part):
            some_allowed = True
        else:
            differences.append(describe(part, before, after))
    return differences, some_allowed
