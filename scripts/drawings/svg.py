"""A drawing: an SVG of text, rectangles and lines that reads on light and dark pages, and to screen readers.

Colours are classes (palette.py), so a drawing holds no colour of its own. Everything is placed in px. The cursor `y` is where the
next part begins, and the height follows from it. `problems()` lists text that leaves the drawing or covers other text.
"""
from html import escape

import palette

WIDTH = 680
MARGIN = 12
SMALL, NORMAL, LARGE = 11, 12, 13
ANGLES = {"rising": 45, "falling": -45, "level": 90}  # degrees, clockwise from upright

# Widths of the letters from blank to ~ in hundredths of the font's size: DejaVu Sans, the widest of the usual system fonts.
PLAIN = [32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84,
         53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 69, 61, 69, 39, 34, 39,
         84, 50, 50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34,
         64, 84]
OTHERS = {"·": 32, "µ": 64, "–": 50, "α": 66, "β": 64, "Σ": 63, "ᵀ": 38}
WIDEST = 84
BOLD = 1.11

FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif"
BASE = f"text{{{FONT};font-variant-numeric:tabular-nums}}.b{{font-weight:650}}.halo{{paint-order:stroke;stroke-width:5px;stroke-linejoin:round}}"


def text_width(text, size=NORMAL, bold=False):
    """The width in px, rather too large than too small."""
    widths = [PLAIN[ord(letter) - 32] if 32 <= ord(letter) < 127 else OTHERS.get(letter, WIDEST) for letter in text]
    return sum(widths) * size / 100 * (BOLD if bold else 1)


def number(value):
    """At most two decimals, no trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))


def attributes(values):
    return "".join(f' {key.replace("_", "-")}="{number(value) if isinstance(value, (int, float)) else escape(value)}"'
                   for key, value in values.items() if value is not None)


class Drawing:
    def __init__(self, title, description):
        self.title = title
        self.description = description
        self.result = ""
        self.y = MARGIN
        self.elements = []
        self.classes = set()
        self.patterns = []
        self.texts = []  # (left, top, right, bottom, text)

    # Elements
    def add(self, name, classes, content="", **values):
        self.classes.update(classes)
        start = f'<{name}{attributes({"class": " ".join(classes) or None, **values})}'
        self.elements.append(f"{start}>{content}</{name}>" if content else f"{start}/>")

    def text(self, x, y, text, look="i-ink", size=NORMAL, anchor="start", bold=False, halo=False):
        """Text whose baseline is y. A halo keeps it readable over lines and hatching."""
        width = text_width(text, size, bold)
        left = x - {"start": 0, "middle": width / 2, "end": width}[anchor]
        self.texts.append((left, y - size * 0.75, left + width, y + size * 0.2, text))

        classes = [look] + ["b"] * bold + ["halo", "l-paper"] * halo
        self.add("text", classes, escape(text, quote=False), x=x, y=y, font_size=size, text_anchor=None if anchor == "start" else anchor)

    def line(self, x1, y1, x2, y2, look="l-muted", width=1, dashes=None):
        self.add("path", [look], d=f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", stroke_width=width, stroke_dasharray=dashes, fill="none")

    def polyline(self, points, look="l-accent", width=2, dashes=None):
        path = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
        self.add("path", [look], d=path, stroke_width=width, stroke_dasharray=dashes, fill="none", stroke_linejoin="round")

    def box(self, x, y, width, height, kind, radius=2):
        """A filled rectangle; idle time is hatched in its colour."""
        if not palette.hatch(kind):
            self.add("rect", [f"f-{kind}"], x=x, y=y, width=width, height=height, rx=radius)
            return

        if kind not in self.patterns:
            self.patterns.append(kind)
        self.classes.update((f"f-{kind}", f"s-{kind}"))
        self.add("rect", [f"s-{kind}"], x=x + 0.5, y=y + 0.5, width=max(width - 1, 0.5), height=height - 1, fill=f"url(#{kind})", rx=radius)

    def outline(self, x, y, width, height, look="l-muted", dashes="4 3", radius=2):
        """An empty rectangle: what is missing, or what could be."""
        self.add("rect", [look], x=x + 0.5, y=y + 0.5, width=width - 1, height=height - 1, fill="none", stroke_dasharray=dashes, rx=radius)

    def dot(self, x, y, look="i-accent", radius=3):
        self.add("circle", [look], cx=x, cy=y, r=radius)

    def cross(self, x, y, look="l-bad", size=5):
        self.line(x - size, y - size, x + size, y + size, look, 2.5)
        self.line(x - size, y + size, x + size, y - size, look, 2.5)

    def arrow(self, x1, y1, x2, y2, look="ink", width=1.2, dashes=None):
        """A line with a head at its end."""
        length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 0.01)
        along = ((x2 - x1) / length, (y2 - y1) / length)
        neck = (x2 - 6 * along[0], y2 - 6 * along[1])
        self.line(x1, y1, *neck, f"l-{look}", width, dashes)

        corners = [(x2, y2)] + [(neck[0] + side * along[1], neck[1] - side * along[0]) for side in (3, -3)]
        self.add("path", [f"i-{look}"], d="M" + "L".join(f"{number(x)} {number(y)}" for x, y in corners) + "Z")

    # Parts that move the cursor
    def caption(self, text, look="i-muted", bold=False):
        self.y += 12
        self.text(MARGIN, self.y, text, look, bold=bold)
        self.y += 8

    def conclusion(self, result, *notes, gain=""):
        """The number of the finding and how it comes out, below everything else. The gain follows in the same line if it fits."""
        self.result = result
        self.y += 8
        self.line(MARGIN, self.y, WIDTH - MARGIN, self.y)
        self.y += 18
        self.text(MARGIN, self.y, result, "i-ink", LARGE, bold=True)

        end = MARGIN + text_width(result, LARGE, True) + 12
        if gain:
            fits = end + text_width(gain, NORMAL) <= WIDTH - MARGIN
            self.y += 0 if fits else 17
            self.text(end if fits else MARGIN, self.y, gain, "i-accent", NORMAL)
        for note in notes:
            self.y += 17
            self.text(MARGIN, self.y, note, "i-muted")

    # The document
    def alternative(self):
        """What a page says in place of the picture: the title without the name of the section, and the result."""
        shows = self.title.partition(": ")[2] or self.title
        return f"{shows[0].upper()}{shows[1:]}. {self.result}".strip()

    def style(self):
        rules = [rule for name in sorted(self.classes - {"b", "halo"}) for rule in palette.rules_of(name)]
        light = "".join(f"{selector}{{{declaration}}}" for selector, declaration, _ in rules)
        dark = "".join(f"{selector}{{{declaration}}}" for selector, _, declaration in rules)
        return f"<style>{BASE}{light}@media(prefers-color-scheme:dark){{{dark}}}</style>"

    def definitions(self):
        hatchings = [f'<pattern id="{kind}" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate({ANGLES[palette.hatch(kind)]})">'
                     f'<rect class="f-{kind}" width="7" height="7" fill-opacity=".25"/><rect class="f-{kind}" width="1.6" height="7" fill-opacity=".75"/></pattern>'
                     for kind in sorted(self.patterns)]
        return f"<defs>{''.join(hatchings)}</defs>" if hatchings else ""

    def document(self):
        height = int(self.y) + MARGIN
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
                f'aria-labelledby="title desc">')
        names = (f'<title id="title">{escape(self.title, quote=False)}</title>\n'
                 f'<desc id="desc">{escape(self.description, quote=False)}</desc>')
        return "\n".join([head, names, self.style()] + [self.definitions()] * bool(self.patterns) + self.elements + ["</svg>", ""])

    def problems(self):
        """Texts outside of the drawing and texts over each other."""
        bottom = int(self.y) + MARGIN
        found = [f'"{text}" leaves the drawing' for left, top, right, low, text in self.texts
                 if left < 0 or top < 0 or right > WIDTH or low > bottom]
        for at, (left, top, right, low, text) in enumerate(self.texts):
            found += [f'"{text}" covers "{other[4]}"' for other in self.texts[:at]
                      if left < other[2] and other[0] < right and top < other[3] and other[1] < low]
        return found
