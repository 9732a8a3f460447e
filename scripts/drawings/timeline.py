"""Timelines: rows of blocks over one axis of time, with arrows from launches to ops, gaps with their causes, brackets with numbers.

A row belongs to a thread, a stream or a device. Rows are placed at the drawing's cursor, from top to bottom. Stacked bars are rows
whose axis is an amount.
"""
from svg import MARGIN, NORMAL, SMALL, WIDTH, text_width

ROW_HEIGHT = 24
GAP = 12
BRACKET = 22  # px that a bracket with its label needs below a row or above it


class Row:
    def __init__(self, timeline, top):
        self.timeline = timeline
        self.drawing = timeline.drawing
        self.top = top
        self.bottom = top + ROW_HEIGHT

    def span(self, begin, end):
        left, right = self.timeline.x(begin), self.timeline.x(end)
        return left, right - left

    def label(self, left, width, text, look, halo=False):
        """The label within a block: normal size, else the small one."""
        for size in (NORMAL, SMALL):
            if text_width(text, size) <= width - 2:
                self.drawing.text(left + width / 2, self.top + 16, text, look, size, "middle", halo=halo)
                return
        raise ValueError(f'"{text}" needs {text_width(text, SMALL):.0f} px and has {width:.0f}')

    def block(self, begin, end, kind, label=""):
        """What ran. Two blocks that touch stay apart by a px."""
        left, width = self.span(begin, end)
        self.drawing.box(left, self.top, max(width - 1, 1), ROW_HEIGHT, kind)
        if label:
            self.label(left, width, label, f"t-{kind}")

    def idle(self, begin, end, cause, label=""):
        """What did not run, hatched in the colour of the cause."""
        left, width = self.span(begin, end)
        self.drawing.box(left, self.top, max(width - 1, 1), ROW_HEIGHT, cause)
        if label:
            self.label(left, width, label, "i-ink", halo=True)

    def ghost(self, begin, end, label="", look="muted"):
        """What is missing, or what could be: dashed and empty."""
        left, width = self.span(begin, end)
        self.drawing.outline(left, self.top, max(width - 1, 2), ROW_HEIGHT, f"l-{look}")
        if label:
            self.label(left, width, label, f"i-{look}")

    def repeat(self, begin, end, count, kind, share=0.8):
        """Many short blocks of equal length, each with its part of the time."""
        pitch = (end - begin) / count
        for at in range(count):
            left, width = self.span(begin + at * pitch, begin + (at + share) * pitch)
            self.drawing.box(left, self.top, width, ROW_HEIGHT, kind, 0)

    def words(self, begin, text, look="i-muted", bold=False):
        """Text in the row itself, from an instant on."""
        self.drawing.text(self.timeline.x(begin) + 4, self.top + 16, text, look, bold=bold)

    def bracket(self, begin, end, label, look="bad", above=False, anchor="middle"):
        """A bracket below the row (or above it) with a number. The row needs the space: `below` or `above` of Timeline.row."""
        left, width = self.span(begin, end)
        edge, reach = (self.top - 3, -5) if above else (self.bottom + 3, 5)
        ends = [(left, edge), (left, edge + reach), (left + width - 1, edge + reach), (left + width - 1, edge)]
        self.drawing.polyline(ends, f"l-{look}", 1.5)

        x = {"middle": left + width / 2, "start": left, "end": left + width}[anchor]
        self.drawing.text(x, edge + (-9 if above else 17), label, f"i-{look}", NORMAL, anchor, bold=True)


class Timeline:
    def __init__(self, drawing, begin, end, left=128, right=WIDTH - MARGIN, gap=GAP):
        self.drawing = drawing
        self.begin, self.end = begin, end
        self.left, self.right = left, right
        self.gap = gap
        self.first_top = None

    def x(self, instant):
        return self.left + (instant - self.begin) / (self.end - self.begin) * (self.right - self.left)

    def row(self, label, note="", role="", above=0, below=0):
        """A row with its label on the left; role is `culprit` or `victim`, the note a second line."""
        self.drawing.y += above
        row = Row(self, self.drawing.y)
        self.first_top = row.top if self.first_top is None else self.first_top
        self.drawing.y = row.bottom + self.gap + below

        second = role or note
        if max(text_width(label), text_width(second, SMALL, bool(role))) > self.left - MARGIN - 4:
            raise ValueError(f'"{label}" or "{second}" reaches into its row')
        self.drawing.text(MARGIN, row.top + (10 if second else 16), label, "i-ink")
        look = {"culprit": "i-bad", "victim": "i-accent"}.get(role, "i-muted")
        if second:
            self.drawing.text(MARGIN, row.top + 23, second, look, SMALL, bold=bool(role))
        return row

    def launch(self, above, called, below, started):
        """An arrow from a launch call in one row to the op in a lower row."""
        self.drawing.arrow(self.x(called), above.bottom + 1, self.x(started), below.top - 1)

    def steps(self, instants, label):
        """Marks of steps above the rows, each span with its label; call it before the first row."""
        y = self.drawing.y + 14
        for begin, end in zip(instants, instants[1:]):
            left, right = self.x(begin), self.x(end)
            self.drawing.arrow((left + right) / 2, y, left + 1, y, "muted", 1)
            self.drawing.arrow((left + right) / 2, y, right - 1, y, "muted", 1)
            self.drawing.text((left + right) / 2, y - 5, label, "i-muted", SMALL, "middle")
        self.drawing.y = y + 10

    def mark(self, instant, label="", look="muted", top=None):
        """A vertical line through all rows so far; its label stands below them."""
        y = self.drawing.y - self.gap + 4
        self.drawing.line(self.x(instant), self.first_top - 4 if top is None else top, self.x(instant), y, f"l-{look}", 1.2, "3 3")
        if label:
            self.drawing.text(self.x(instant), y + 13, label, f"i-{look}", SMALL, "middle")

    def axis(self, instants, unit, decimals=0):
        """Ticks and numbers below the rows, the last with its unit."""
        y = self.drawing.y - self.gap + 6
        self.drawing.line(self.left, y, self.right, y)
        for instant in instants:
            self.drawing.line(self.x(instant), y, self.x(instant), y + 4)
            is_last = instant == instants[-1]
            anchor = "end" if is_last and self.x(instant) > self.right - 20 else "middle"
            self.drawing.text(self.x(instant), y + 16, f"{instant:.{decimals}f}" + f" {unit}" * is_last, "i-muted", SMALL, anchor)
        self.drawing.y = y + 20
