"""Drawings of the findings about the devices' memory (docs/reference/FINDINGS.md)."""
from charts import Chart, legend
from svg import Drawing
from timeline import Timeline


def memory_leak():
    drawing = Drawing("memory-leak: each step leaves more memory behind",
                      "The floors of eight steps rise from 30 to 44 GiB, 2 GiB a step. The last step holds up to 60 of 80 GiB, so memory is full after "
                      "10 more steps.")
    drawing.caption("Allocated memory, GiB")
    chart = Chart(drawing, (0, 18.6), (0, 88), left=52, height=120)
    points = []
    for step in range(8):
        floor = 30 + 2 * step
        points += [(step, floor), (step + 0.6, floor + 16), (step + 0.9, floor + 2)]

    chart.line(points)
    chart.points([(step, 30 + 2 * step) for step in range(8)], "bad")
    chart.line([(7.6, 60), (17.6, 80)], "bad", 1.5, "5 4")
    chart.level(80, "capacity: 80 GiB", anchor="start")
    chart.words(4, 17, "floors: 2 GiB more each step", "i-bad", "middle", bold=True)
    chart.words(8.2, 47, "most held in step 7: 60 GiB", "i-accent")
    chart.words(13.2, 62, "forecast", "i-bad")

    chart.y_ticks({0: "0", 30: "30", 60: "60", 80: "80"})
    chart.x_ticks({0.5: "step 0", 7.5: "step 7", 17.5: "step 17: full"})
    chart.done()
    drawing.conclusion("steps_to_full = (80 − 60) GiB / 2 GiB a step = 10 steps: critical, as below 1,000.",
                       "The floor of a step is the least that is allocated during it. The rule needs 64 KiB a step,",
                       "and at least 80 % of the steps above the one before. The finding has no cost per step.")
    return drawing


def memory_fragmentation():
    drawing = Drawing("memory-fragmentation: free memory lies in holes that are too small",
                      "36 GiB are reserved: 24 in use and 12 free in six holes of 2 GiB. A request of 4 GiB fits in no hole, so the reserve grows to "
                      "40 GiB. 12 of 40 GiB, 30 per cent, are never in use at once.")
    drawing.caption("Memory of the caching allocator by address")
    drawing.y += 4
    time = Timeline(drawing, 0, 44)
    before = time.row("Before", "36 GiB reserved")
    after = time.row("After", "40 GiB reserved", below=22)
    for row in (before, after):
        for begin in range(0, 36, 6):
            row.block(begin, begin + 4, "weights", "4")
            row.ghost(begin + 4, begin + 6, "2", "bad")

    before.words(36, "request: 4 GiB", "i-bad", bold=True)
    after.block(36, 40, "activations", "new: 4")
    after.bracket(0, 40, "28 GiB in use, 12 GiB free in holes of 2 GiB")
    time.axis([0, 10, 20, 30, 40], "GiB")

    drawing.conclusion("unused_bytes = 40 − 28 = 12 GiB = 30 % of the peak reserve: a warning, as from 25 % on.",
                       "The request was smaller than the 12 GiB that were free in total, and yet the reserve grew by 4 GiB.",
                       "Two such requests: fragmented_growth_bytes = 8 GiB, at least half of 12 GiB. No cost per step.")
    return drawing


def memory_pressure():
    drawing = Drawing("memory-pressure: little memory is left",
                      "74 of 80 GiB are reserved at the peak, 92.5 per cent, above the limit of 90 per cent. 70 GiB are allocated: 24 do not grow with "
                      "the batch, 46 are activations.")
    time = Timeline(drawing, 0, 80)
    drawing.y += 4
    reserved = time.row("Peak reserved")
    reserved.block(0, 74, "other", "74 GiB = 92.5 % of 80 GiB")
    reserved.ghost(74, 80)
    allocated = time.row("Peak allocated", "70 GiB", below=18)
    for begin, end, kind, words in ((0, 6, "weights", "6"), (6, 12, "gradients", "6"), (12, 24, "optimizer", "12"), (24, 70, "activations", "46 GiB")):
        allocated.block(begin, end, kind, words)

    for limit in (72, 78.4, 80):
        time.mark(limit)
    y = drawing.y - 12
    for limit, words, anchor in ((72, "90 %: 72 GiB", "end"), (78.4, "98 %", "middle")):
        drawing.text(time.x(limit), y + 17, words, "i-muted", 11, anchor)
    legend(drawing, time.left, y + 17, [("weights", "weights"), ("gradients", "gradients"), ("optimizer", "optimizer"), ("activations", "activations")])
    drawing.y += 10

    drawing.conclusion("74 GiB is above 90 % (72 GiB) and below 98 % (78.4 GiB) of 80 GiB: a warning.",
                       "batch_factor = (0.9 × 80 − 24) / (70 − 24) = 48 / 46 = 1.04: hardly a larger batch fits.",
                       "Activations are the largest purpose at the peak. There is no cost per step.")
    return drawing


DRAWINGS = {
    "memory-leak": memory_leak,
    "memory-fragmentation": memory_fragmentation,
    "memory-pressure": memory_pressure,
}
