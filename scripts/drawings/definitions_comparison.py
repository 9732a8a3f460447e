"""Drawings of the definitions of replays, tuning, scaling and comparisons (docs/reference/DEFINITIONS.md)."""
from charts import Chart
from svg import MARGIN, SMALL, Drawing
from timeline import Timeline


def what_if():
    drawing = Drawing("What-if: a replay with shorter transfers shows what the step gains",
                      "Recorded: compute from 0 to 8 ms, an all-reduce from 4 to 9 ms, the optimizer until 10 ms. With transfers of 0.4 times their length "
                      "the all-reduce ends at 6 ms, and the step at 9 ms.")
    time = Timeline(drawing, 0, 10, gap=5)
    drawing.y += 4
    for words, transfer, end in (("recorded", 5, 10), ("replayed", 2, 9)):
        compute = time.row("Compute stream", words)
        compute.block(0, 4, "compute", "A: 4 ms")
        compute.block(4, 8, "compute", "B: 4 ms")
        compute.block(end - 1, end, "compute", "optim.")
        comm = time.row("Communication", words)
        comm.block(4, 4 + transfer, "comm", f"all-reduce: {transfer} ms")
        if end < 10:
            compute.ghost(9, 10, "1 ms", "good")
            comm.ghost(6, 9, "3 ms less", "good")
        drawing.y += 5

    time.axis([0, 2, 4, 6, 8, 10], "ms")
    drawing.conclusion("Transfers × 0.4: 3 ms less, gain 10 / 9 − 1 = 11 %, not 10 / 7 − 1 = 43 %.",
                       "class:communication=*0.4. The optimizer waits for B until 8 ms, so 2 of the 3 ms change nothing.",
                       "Error 10.1 / 10 − 1 = 1 %, spread 2 %: the interval is 9 ms · (1 ± √(1² + 2²) %) = 8.8 to 9.2 ms.")
    return drawing


def tuning():
    drawing = Drawing("Tuning: the saving of a candidate over five pairs",
                      "Five pairs of runs. The default settings take 100 ms a step on average, the candidate 92 ms. The saving is 8 per cent, its 95 per cent "
                      "interval reaches from 7.5 to 8.5, above the least effect of 2.")
    drawing.caption("Cost of a run, ms a step, by pair")
    base, candidate = (100, 101, 99.5, 100.2, 99.3), (92.5, 92.5, 91.5, 92, 91.5)
    chart = Chart(drawing, (0.4, 5.6), (88, 103), left=52, right=330, height=100)
    chart.points([(pair + 1, cost) for pair, cost in enumerate(base)], "ink")
    chart.points([(pair + 1, cost) for pair, cost in enumerate(candidate)], "accent")
    for pair, (default, other) in enumerate(zip(base, candidate), 1):
        chart.line([(pair, other), (pair, default)], "muted", 1, "3 3")
        chart.words(pair + 0.06, (default + other) / 2, f"−{default - other:.1f}", "i-muted")
    chart.words(0.45, 102.2, "default", "i-ink", bold=True)
    chart.words(0.45, 89.3, "candidate", "i-accent", bold=True)
    chart.y_ticks({92: "92", 100: "100"})
    chart.x_ticks({pair: f"{pair}" for pair in range(1, 6)})

    drawing.text(366, MARGIN + 12, "Saving, % of the default's cost", "i-muted")
    drawing.y = chart.top - 6
    effect = Chart(drawing, (0, 10), (0, 1), left=366, right=660, height=100)
    effect.line([(2, 0), (2, 1)], "muted", 1.2, "5 4")
    effect.words(2.1, 0.85, "min-effect 2 %", "i-muted")
    effect.line([(7.53, 0.45), (8.47, 0.45)], "accent", 5)
    effect.points([(8, 0.45)], "ink")
    effect.words(8, 0.57, "8 %", "i-accent", "middle", bold=True)
    effect.words(8, 0.24, "7.5 to 8.5 %", "i-accent", "middle")
    effect.x_ticks({0: "0", 2: "2", 4: "4", 6: "6", 8: "8", 10: "10 %"})

    drawing.y = chart.bottom + 22
    drawing.conclusion("Saving = 1 − 92 / 100 = 8 %, interval 7.5 to 8.5 %: faster: all of it above 2 %, p < 0.002.",
                       "Student's t of the 5 differences: 8.0 ± 2.78 × 0.38 / √5 = 8.0 ± 0.5 ms, divided by 100 ms.",
                       "Trap: a what-if answer gives the gain instead, 100 / 92 − 1 = 8.7 %.")
    return drawing


def scaling():
    drawing = Drawing("Scaling: efficiency and speed-up of a strong series, and where the loss goes",
                      "Steps of 100, 55, 32 and 20 ms on 1, 2, 4 and 8 devices. The efficiency is 100, 91, 78 and 62.5 per cent. On 8 devices the step takes "
                      "12.5 ms ideally, 7.5 ms are lost.")
    drawing.caption("Speed-up E(N) · N, by devices")
    chart = Chart(drawing, (0, 8.6), (0, 8.6), left=52, right=300, height=110)
    chart.line([(0, 0), (8, 8)], "muted", 1.2, "5 4")
    measured = {1: 100, 2: 55, 4: 32, 8: 20}
    chart.line([(devices, 100 / length) for devices, length in measured.items()])
    chart.points([(devices, 100 / length) for devices, length in measured.items()])
    for devices, length in measured.items():
        efficiency = f"E = {100 / length / devices:.3f}"
        if devices in (2, 4):
            chart.words(devices + 0.25, 100 / length - 1, efficiency, "i-accent")
        elif devices == 8:
            chart.words(devices - 0.1, 3.4, efficiency, "i-accent", "end")
    chart.words(5.8, 6.6, "ideal", "i-muted", "end")
    chart.y_ticks({0: "0", 4: "4", 8: "8"})
    chart.x_ticks({0: "0", 1: "1", 2: "2", 4: "4", 8: "8"})

    drawing.text(336, MARGIN + 12, "Lost efficiency of 8 devices: ms of the step", "i-muted")
    drawing.y = MARGIN + 26
    parts = (("ideal", 12.5, "compute"), ("exposed comm", 4, "comm"), ("imbalance", 1.5, "peer"), ("host", 1.2, "launch_starved"), ("rest", 0.8, "other"))
    bars = Timeline(drawing, 0, 20, left=426, right=640, gap=0)
    at = 0
    for words, length, kind in parts:
        drawing.text(336, drawing.y + 13, words, "i-ink")
        drawing.box(bars.x(at), drawing.y, bars.x(at + length) - bars.x(at), 17, kind, 1)
        if at:
            drawing.text(bars.x(at + length) + 5, drawing.y + 13, f"{length:g}", "i-ink", SMALL)
        else:
            drawing.text(bars.x(length / 2), drawing.y + 13, f"{length:g}", "t-compute", SMALL, "middle")
        at += length
        drawing.y += 22

    drawing.y = chart.bottom + 22
    drawing.conclusion("E(8) = 100 / (8 · 20) = 0.625: T(8) = 12.5 ms ideal + 4 + 1.5 + 1.2 + 0.8 = 20 ms.",
                       "T(1) = 100, T(2) = 55, T(4) = 32, T(8) = 20 ms at the same batch: strong, N₀ = 1.",
                       "Ideal: T(1) / 8 = 12.5 ms. The parts of the loss sum to T(8) − T(1) / 8 = 7.5 ms.")
    return drawing


def gains():
    drawing = Drawing("Gains and comparisons: what a step gains if a part is removed or hidden",
                      "A step of 10 ms: compute 3 ms, exposed communication 5 ms, idle 2 ms. Without the idle time it takes 8 ms. Only 3 ms of the "
                      "communication can hide behind compute, so then it takes 7 ms.")
    time = Timeline(drawing, 0, 10, gap=8)
    drawing.y += 4
    step = time.row("Step", "10 ms")
    step.block(0, 3, "compute", "compute 3 ms")
    step.block(3, 8, "comm", "exposed communication 5 ms")
    step.idle(8, 10, "input", "idle 2 ms")

    removed = time.row("Idle removed", "R = 2 ms")
    removed.block(0, 3, "compute", "compute 3 ms")
    removed.block(3, 8, "comm", "exposed communication 5 ms")
    removed.ghost(8, 10, "− 2 ms", "good")
    hidden = time.row("Comm. hidden", "R = 3 ms")
    hidden.block(0, 3, "compute", "hides 3 ms of 5")
    hidden.block(3, 5, "comm", "left: 2 ms")
    hidden.idle(5, 7, "input", "idle 2 ms")
    hidden.ghost(7, 10, "− 3 ms", "good")
    time.axis([0, 2, 4, 6, 8, 10], "ms")

    drawing.conclusion("Gain up to T / (T − R) − 1: idle 10 / 8 − 1 = 25 %, communication 10 / 7 − 1 = 43 %.",
                       "Hiding gains no more than there is to hide behind: compute during which no communication runs, 3 ms.",
                       "Without all 5 ms it would be 10 / 5 − 1 = 100 %, but compute hides no more than its own 3 ms.")
    return drawing


def comparing_runs():
    drawing = Drawing("Comparing runs: four verdicts, by interval and p",
                      "Changes of the step with 95 per cent intervals. Minus 0.3 to plus 1.2 per cent is the same, plus 4 to plus 8 is slower, minus 7 to "
                      "minus 3 is faster, plus 1 to plus 5 is unclear. The smallest change that counts is 2 per cent.")
    drawing.caption("Change of the step against the base, %: shift and 95 % interval")
    chart = Chart(drawing, (-8, 10), (0, 4), left=128, right=640, height=104)
    for limit in (-2, 2):
        chart.line([(limit, 0), (limit, 4)], "muted", 1.2, "5 4")
    rows = (("same", 0.5, -0.3, 1.2, "whole interval within ± 2 %"), ("slower", 6, 4, 8, "beyond 2 %"),
            ("faster", -5, -7, -3, "all beyond −2 %, p < 0.002"), ("unclear", 3, 1, 5, "crosses 2 %"))
    for at, (verdict, shift, low, high, words) in enumerate(rows):
        y = 3.5 - at
        look = {"slower": "bad", "faster": "good"}.get(verdict, "accent")
        chart.line([(low, y), (high, y)], look, 3)
        chart.points([(shift, y)], look)
        drawing.text(MARGIN, chart.y(y) + 4, verdict, f"i-{look}", bold=True)
        chart.words(high + 0.15, y - 0.12, words, "i-muted")
    chart.x_ticks({-8: "−8 %", -2: "−2 %", 0: "0", 2: "+2 %", 6: "+6 %"})
    chart.done()

    drawing.conclusion("slower: +6 % (+4 to +8), p < 0.002 and the whole interval beyond +2 %.",
                       "Why: a kernel of 100 calls of 20 µs becomes 110 calls of 22 µs: 2,000 to 2,420 µs, + 420 µs.",
                       "kernel_speed = (100 + 110) / 2 × 2 = 210 µs, kernel_calls = (20 + 22) / 2 × 10 = 210 µs.")
    return drawing


DRAWINGS = {
    "definition-what-if": what_if,
    "definition-tuning": tuning,
    "definition-scaling": scaling,
    "definition-gains-and-comparisons": gains,
    "definition-comparing-runs": comparing_runs,
}
