#!/usr/bin/env python3
"""Writes python/stepscope/results.pyi: the types of an analysis, from docs/reference/analysis.schema.json.

usage: python_stubs.py            writes it
       python_stubs.py --check    exit status 1 where it is not as this would write it
"""
import json
import keyword
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "docs/reference/analysis.schema.json"
STUBS = ROOT / "python/stepscope/results.pyi"

HEAD = '''# Made by scripts/python_stubs.py from docs/reference/analysis.schema.json.
from typing import Any, Iterator, KeysView, Literal

class Record:
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...
    def __contains__(self, name: object) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def keys(self) -> KeysView[str]: ...
    def to_dict(self) -> dict[str, Any]: ...

'''
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def class_name(words):
    return "".join(word.title() for word in words.replace("-", "_").split("_"))


def singular(name):
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


class Writer:
    def __init__(self, definitions):
        self.definitions, self.classes, self.names = definitions, {}, {}

    def name_for(self, schema, wanted):
        """One class for each shape."""
        key = json.dumps(schema, sort_keys=True)
        if key in self.names:
            return self.names[key]
        name, number = wanted, 1
        while name in self.classes:
            number += 1
            name = f"{wanted}{number}"
        self.names[key] = name
        self.classes[name] = None  # its place, before what it refers to
        self.classes[name] = [
            f"    {field}: {self.type_of(part, name + class_name(singular(field)))}"
            for field, part in schema["properties"].items()
            if not keyword.iskeyword(field)  # record["class"] is an Any
        ]
        return name

    def type_of(self, schema, wanted):
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return self.type_of(self.definitions[name], class_name(name))
        if "enum" in schema:
            return f"Literal[{', '.join(map(repr, schema['enum']))}]"
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "anyOf" in schema:
            kinds = [self.type_of(each, wanted) for each in schema["anyOf"]]
            return " | ".join(dict.fromkeys(kinds))
        kind = schema.get("type")
        if isinstance(kind, list):
            return " | ".join(self.type_of({**schema, "type": each}, wanted) for each in kind)
        if kind == "array":
            return f"list[{self.type_of(schema.get('items', {}), wanted)}]"
        if kind == "object":
            return self.name_for(schema, wanted) if "properties" in schema else "Record"
        return SIMPLE.get(kind, "Any")


def stubs():
    schema = json.loads(SCHEMA.read_text())
    writer = Writer(schema.get("$defs", {}))
    fields = [
        f"    {field}: {writer.type_of(part, class_name(singular(field)))}"
        for field, part in schema["properties"].items()
    ]
    text = HEAD
    for name, lines in writer.classes.items():
        text += f"class {name}(Record):\n" + "\n".join(lines or ["    pass"]) + "\n\n"
    text += "class Analysis(Record):\n    def __init__(self, text: str) -> None: ...\n"
    text += "    def _repr_html_(self) -> str: ...\n" + "\n".join(fields) + "\n"
    return text


def main():
    text = stubs()
    if sys.argv[1:] == ["--check"]:
        if not STUBS.exists() or STUBS.read_text() != text:
            sys.exit(f"{STUBS.relative_to(ROOT)} is not made of the schema as it is: run scripts/python_stubs.py")
        return
    if sys.argv[1:]:
        sys.exit(__doc__)
    STUBS.write_text(text)


if __name__ == "__main__":
    main()
