"""Colours and hatches of the drawings: those of the report (reports/words/labels.cpp, reports/web/report.css), each for light and dark pages."""

# What a block stands for: its name on a drawing's legend, the colours (light, dark), how idle time is hatched.
KINDS = {
    "compute": ("compute", "#0072b2", "#2f8fd0", ""),
    "comm": ("communication", "#d55e00", "#e8742a", ""),
    "copy": ("copy", "#b5639b", "#cc79a7", ""),
    "allocation": ("memory allocation", "#882255", "#c2557f", "level"),
    "sync": ("blocking synchronization", "#00876a", "#1fa587", "rising"),
    "input": ("waiting for input", "#e69f00", "#f0b030", "rising"),
    "dependency": ("waiting for another stream", "#8868b0", "#a58bd0", "rising"),
    "peer": ("waiting for another rank", "#56a8dc", "#7cc4ef", "rising"),
    "graph": ("inside a CUDA graph", "#3f9e94", "#5cbdb2", "falling"),
    "launch_starved": ("launch-bound", "#c2ac00", "#ded046", "falling"),
    "launch_latency": ("launch latency", "#a8adb5", "#8a919c", "level"),
    "profiler": ("profiler overhead", "#5d4037", "#a1887f", "falling"),
    "unexplained": ("unexplained", "#5b616b", "#6d7480", "rising"),
    "host": ("work of the host", "#c3cddb", "#465061", ""),
    "launch": ("launch calls", "#8f98a6", "#7d8796", ""),
    "other": ("other", "#a8adb5", "#8a919c", ""),
    "weights": ("weights", "#0072b2", "#2f8fd0", ""),
    "gradients": ("gradients", "#d55e00", "#e8742a", ""),
    "optimizer": ("optimizer", "#8868b0", "#a58bd0", ""),
    "activations": ("activations", "#00876a", "#1fa587", ""),
    "workspace": ("workspace", "#e69f00", "#f0b030", ""),
}

# Text and lines (light, dark). The text has a contrast of 4.5 : 1 and more on white, #1b1b1f and #0d1117.
INKS = {
    "ink": ("#1b1e23", "#e5e8ec"),
    "muted": ("#5a6270", "#a3abb8"),
    "bad": ("#b3261e", "#ff8a80"),
    "good": ("#00705a", "#4fc9ab"),
    "accent": ("#0a5fa8", "#74b9ff"),
}
PAPER = ("#ffffff", "#1b1b1f")
PAGES = (("#ffffff",), ("#1b1b1f", "#0d1117"))
MIN_CONTRAST = 4.5


def luminance(colour):
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def ink_on(fill):
    """Black or white, whichever is easier to read on a filled block."""
    return max(("#ffffff", "#000000"), key=lambda ink: contrast(ink, fill))


def hatch(kind):
    """The direction of its lines; "" of what is not idle time."""
    return KINDS[kind][3]


def faults():
    """Pairs of text and ground that are hard to read."""
    found = []
    for name, inks in INKS.items():
        found += [f"{name} on {page}" for ink, pages in zip(inks, PAGES) for page in pages if contrast(ink, page) < MIN_CONTRAST]

    for name, (_, light, dark, lines) in KINDS.items():
        found += [f"text on {name} ({fill})" for fill in (light, dark) if not lines and contrast(ink_on(fill), fill) < MIN_CONTRAST]
    return found


def rules_of(name):
    """(selector, declaration in light, declaration in dark) of one class of a drawing."""
    role, _, key = name.partition("-")
    if key in KINDS:
        pair = KINDS[key][1:3]
        if role == "t":
            return [(f".{name}", *(f"fill:{ink_on(colour)}" for colour in pair))]
        property_name = {"f": "fill", "s": "stroke"}[role]
        return [(f".{name}", *(f"{property_name}:{colour}" for colour in pair))]

    property_name = {"i": "fill", "l": "stroke"}[role]
    colours = PAPER if key == "paper" else INKS[key]
    return [(f".{name}", *(f"{property_name}:{colour}" for colour in colours))]
