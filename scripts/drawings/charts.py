"""Charts: lines, columns and thresholds over two axes, and grids of cells."""
from svg import SMALL, text_width

CELL_GAP = 1.5


class Chart:
    """A frame of `height` px at the drawing's cursor. `x_range` and `y_range` are what it shows."""

    def __init__(self, drawing, x_range, y_range, left=60, right=668, height=110):
        self.drawing = drawing
        self.x_range, self.y_range = x_range, y_range
        self.left, self.right = left, right
        self.top, self.bottom = drawing.y + 6, drawing.y + 6 + height
        drawing.line(left, self.bottom, right, self.bottom)

    def x(self, value):
        return self.left + (value - self.x_range[0]) / (self.x_range[1] - self.x_range[0]) * (self.right - self.left)

    def y(self, value):
        return self.bottom - (value - self.y_range[0]) / (self.y_range[1] - self.y_range[0]) * (self.bottom - self.top)

    def x_ticks(self, labels):
        """{value: label} below the frame."""
        for value, label in labels.items():
            self.drawing.line(self.x(value), self.bottom, self.x(value), self.bottom + 4)
            self.drawing.text(self.x(value), self.bottom + 16, label, "i-muted", SMALL, "middle")

    def y_ticks(self, labels):
        """{value: label} on the left of the frame."""
        for value, label in labels.items():
            self.drawing.line(self.left - 4, self.y(value), self.left, self.y(value))
            self.drawing.text(self.left - 7, self.y(value) + 4, label, "i-muted", SMALL, "end")

    def line(self, points, look="accent", width=2, dashes=None):
        self.drawing.polyline([(self.x(x), self.y(y)) for x, y in points], f"l-{look}", width, dashes)

    def points(self, points, look="accent"):
        for x, y in points:
            self.drawing.dot(self.x(x), self.y(y), f"i-{look}")

    def level(self, value, label, look="muted", begin=None, end=None, anchor="end", above=True):
        """A dashed threshold with its label at one end."""
        left = self.left if begin is None else self.x(begin)
        right = self.right if end is None else self.x(end)
        self.drawing.line(left, self.y(value), right, self.y(value), f"l-{look}", 1.2, "5 4")
        x = right if anchor == "end" else left
        self.drawing.text(x, self.y(value) + (-5 if above else 14), label, f"i-{look}", SMALL, anchor, halo=True)

    def column(self, begin, end, value, kind, base=None, label=""):
        """A column from the base to a value, its label on top."""
        low = self.y(self.y_range[0] if base is None else base)
        self.drawing.box(self.x(begin), self.y(value), self.x(end) - self.x(begin), low - self.y(value), kind, 1)
        if label:
            self.drawing.text((self.x(begin) + self.x(end)) / 2, self.y(value) - 5, label, "i-ink", SMALL, "middle")

    def words(self, x, y, text, look="i-ink", anchor="start", bold=False):
        self.drawing.text(self.x(x), self.y(y), text, look, SMALL + 1, anchor, bold, halo=True)

    def span_arrow(self, x, low, high, label, look="bad", anchor="start"):
        """A vertical distance between two values with its label."""
        middle = (self.y(low) + self.y(high)) / 2
        for end in (low, high):
            self.drawing.arrow(self.x(x), middle, self.x(x), self.y(end), look)
        self.drawing.text(self.x(x) + (7 if anchor == "start" else -7), middle + 4, label, f"i-{look}", SMALL + 1, anchor, bold=True, halo=True)

    def done(self, room=24):
        """Moves the cursor below the frame and its ticks."""
        self.drawing.y = self.bottom + room


def cells(drawing, x, y, columns, kinds, size=12):
    """A grid, row by row: a kind for each cell, None for an empty one. Returns its width and height."""
    for at, kind in enumerate(kinds):
        left, top = x + at % columns * size, y + at // columns * size
        if kind is None:
            drawing.outline(left, top, size - CELL_GAP, size - CELL_GAP, dashes=None, radius=1)
        else:
            drawing.box(left, top, size - CELL_GAP, size - CELL_GAP, kind, 1)
    return columns * size, -(-len(kinds) // columns) * size


def legend(drawing, x, y, entries):
    """[(kind, words)] in one line."""
    for kind, words in entries:
        drawing.box(x, y - 9, 11, 11, kind, 2)
        drawing.text(x + 16, y, words, "i-muted", SMALL)
        x += 30 + text_width(words, SMALL)

