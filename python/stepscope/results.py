"""Results with the names and meanings of the JSON of the command.

docs/reference/ANALYSIS_JSON.md lists those of an analysis, docs/guide/COMPARE.md and WHATIF.md the
others. Times end in _ns and are integers of nanoseconds; None stands for a number that cannot be known.
"""

import json
import re
from html import escape


def _wrapped(value):
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_wrapped(each) for each in value]
    return value


class Record:
    """Named values: `record.name`, `record["name"]`. Never changes."""

    __slots__ = ("_values",)

    def __init__(self, values):
        object.__setattr__(self, "_values", values)

    def __getattr__(self, name):
        try:
            return _wrapped(self._values[name])
        except KeyError:
            names = ", ".join(self._values)
            raise AttributeError(f"there is no {name!r} here, but {names}") from None

    def __getitem__(self, name):
        try:
            return _wrapped(self._values[name])
        except KeyError:
            raise KeyError(f"there is no {name!r} here, but {', '.join(self._values)}") from None

    def __setattr__(self, name, value):
        raise AttributeError(f"{name!r} cannot be set: results do not change")

    def __contains__(self, name):
        return name in self._values

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def __eq__(self, other):
        return isinstance(other, Record) and self._values == other._values

    def __hash__(self):
        return hash(repr(self._values))

    def __dir__(self):
        return [*super().__dir__(), *self._values]

    def __getstate__(self):
        return self._values

    def __setstate__(self, values):
        object.__setattr__(self, "_values", values)

    def keys(self):
        return self._values.keys()

    def to_dict(self):
        """Plain dicts and lists, as json.loads() gives them."""
        from copy import deepcopy

        return deepcopy(self._values)

    def __repr__(self):
        """Short values; of the others how many there are."""
        shown = ", ".join(f"{name}={_brief(value)}" for name, value in self._values.items())
        return f"<stepscope.Record {shown}>"


def _brief(value):
    if isinstance(value, (dict, list)):
        return f"{'{' if isinstance(value, dict) else '['}{len(value)}{'}' if isinstance(value, dict) else ']'}"
    if isinstance(value, str) and len(value) > 60:
        return repr(value[:59] + "…")
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


class _Sections(dict):
    """The members of a JSON object, each parsed when it is first asked for.

    Most of the text of a large run are steps, which many questions never touch. The text is as the
    command prints it: members of the object itself are indented like its first one, others more.
    """

    def __init__(self, text):
        super().__init__()
        indent = re.match(r"\{\n( *)\"", text).group(1)
        found = list(re.finditer(rf'^{indent}"(\w+)": ', text, re.MULTILINE))
        ends = [member.start() for member in found[1:]] + [text.rindex("}")]
        self._text = text
        self._places = {m.group(1): (m.end(), end) for m, end in zip(found, ends)}

    def __missing__(self, name):
        begin, end = self._places[name]
        value = json.loads(self._text[begin:end].rstrip().removesuffix(","))
        self[name] = value
        return value

    def get(self, name, otherwise=None):
        return self[name] if name in self else otherwise

    def __contains__(self, name):
        return name in self._places

    def __iter__(self):
        return iter(self._places)

    def __len__(self):
        return len(self._places)

    def keys(self):
        return self._places.keys()

    def plain(self):
        return json.loads(self._text)


class Analysis(Record):
    """What `stepscope analyze --json` prints of a run."""

    __slots__ = ()

    def __init__(self, text):
        super().__init__(_Sections(text))

    def to_dict(self):
        return self._values.plain()

    def __eq__(self, other):
        return isinstance(other, Analysis) and self.to_dict() == other.to_dict()

    __hash__ = None

    def __getstate__(self):
        return self._values._text

    def __setstate__(self, text):
        self.__init__(text)

    def __repr__(self):
        findings = self._values["findings"]
        count = f"{len(findings)} finding{'' if len(findings) == 1 else 's'}"
        first = f", first: {findings[0]['title']}" if findings else ""
        return f"<stepscope.Analysis of {self._values['run']['name']}: {count}{first}>"

    def _repr_html_(self):
        """For notebooks: the verdict, what a step is made of, and what to do."""
        return f"<div>{_headline(self._values)}{_bar(self._values)}{_findings(self._values)}</div>"


# Named and coloured as in the report (reports/words/labels.cpp); idle as a whole is grey.
_PARTS = (
    ("compute_ns", "compute", "#0072b2"),
    ("exposed_comm_ns", "exposed communication", "#d55e00"),
    ("exposed_copy_ns", "exposed copies", "#b5639b"),
    ("idle_ns", "idle", "#a8a8a8"),
)


def _time(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def _percent(share):
    return f"{100 * share:.1f} %"


def _headline(analysis):
    name, verdict = (escape(str(text)) for text in (analysis["run"]["name"], analysis["summary"]["verdict"]))
    return f"<p><b>{name}</b></p><p>{verdict}</p>"


def _mean_parts(analysis):
    """(name, colour, ns) of each part of the mean step of a device."""
    summary = analysis["summary"]
    for key, label, colour in _PARTS:
        value = summary.get(key)
        if isinstance(value, dict):
            value = sum(part for part in value.values() if part is not None)
        if value:
            yield label, colour, value


def _bar(analysis):
    parts, whole = list(_mean_parts(analysis)), analysis["summary"].get("mean_ns")
    if not parts or not whole:
        return ""
    bar = "".join(
        f'<span title="{label}: {_time(ns)}" style="display:inline-block;height:14px;'
        f'background:{colour};width:{100 * ns / whole:.2f}%"></span>'
        for label, colour, ns in parts
    )
    key = "".join(
        f'<span style="white-space:nowrap;margin-right:1.2em"><span style="color:{colour}">■</span> '
        f"{label} {_time(ns)} ({_percent(ns / whole)})</span>"
        for label, colour, ns in parts
    )
    return f'<div style="max-width:480px;font-size:0;white-space:nowrap">{bar}</div><p>{key}</p>'


def _findings(analysis):
    rows = ""
    for finding in analysis["findings"]:
        gain = finding.get("gain_alone")
        faster = "" if gain is None else _percent(gain)
        cells = (finding["severity"], finding["title"], faster, finding["advice"])
        rows += "<tr>" + "".join(f'<td style="text-align:left">{escape(str(cell))}</td>' for cell in cells) + "</tr>"
    if not rows:
        return ""
    names = ("severity", "finding", "faster if fixed", "what to do")
    head = "".join(f'<th style="text-align:left">{name}</th>' for name in names)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
