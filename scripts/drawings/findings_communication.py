"""Drawings of the findings about communication (docs/reference/FINDINGS.md)."""
from charts import Chart
from svg import MARGIN, Drawing
from timeline import Timeline


def straggler():
    drawing = Drawing("straggler: one device comes late to a collective",
                      "Three ranks in a step of 8 ms. Ranks 0 and 2 compute for 4 ms, rank 1 for 6 ms. In the all-reduce the others wait for "
                      "rank 1 for 2 ms, 25 per cent of the step.")
    time = Timeline(drawing, 0, 8)
    time.steps([0, 8], "step: 8 ms")
    for rank in range(3):
        is_late = rank == 1
        row = time.row(f"Rank {rank}", role="culprit" if is_late else "victim", below=22 if rank == 2 else 0)
        if is_late:
            row.block(0, 6, "compute", "forward and backward: 6 ms")
        else:
            row.block(0, 4, "compute", "forward and backward: 4 ms")
            row.idle(4, 6, "peer", "waits in all-reduce")
        row.block(6, 7, "comm", "transfer")
        row.block(7, 8, "compute", "optimizer")
    row.bracket(4, 6, "2 ms wait")

    drawing.conclusion("2 ms of an 8 ms step = 25 %: critical.",
                       "The shortest all-reduce (rank 1: 1 ms) is the transfer. What the others take longer is waiting: 3 − 1 = 2 ms.",
                       "compute_ratio = (6 + 1) / (4 + 1) = 1.4: the cause is compute.",
                       gain="Gain up to 8 / 6 − 1 = 33 %.")
    return drawing


def slow_link():
    drawing = Drawing("slow-link: one link takes longer for the same messages",
                      "Median times of equal messages over four links: three take 1 ms, the link from GPU 2 to GPU 3 takes 2.5 ms. A replay "
                      "in which it takes 1 ms shortens the step from 10 to 8.5 ms, 15 per cent.")
    drawing.caption("Median transfer of 64 MB, send and receive")
    links = Timeline(drawing, 0, 3, gap=6)
    for name, length in (("GPU 0 → 1", 1), ("GPU 1 → 2", 1), ("GPU 2 → 3", 2.5), ("GPU 3 → 0", 1)):
        row = links.row(name, role="culprit" if length > 1 else "")
        row.block(0, length, "comm")
        row.words(length, f"{length:.1f} ms", "i-bad" if length > 1 else "i-ink", bold=length > 1)
    links.mark(1.5, "1.5 × the others' median", top=links.first_top - 4)
    drawing.y += 20

    step = Timeline(drawing, 0, 10, gap=6)
    step.row("Step, recorded").block(0, 10, "compute", "10 ms")
    replayed = step.row("Step, replayed", "all links 1.0 ms")
    replayed.block(0, 8.5, "compute", "8.5 ms")
    replayed.ghost(8.5, 10, "1.5 ms", "bad")

    drawing.conclusion("1.5 ms of a 10 ms step = 15 %: a warning.",
                       "2.5 ms is more than 1.5 × 1.0 ms. Excess that only turns into other waiting does not shorten the replay.",
                       gain="Gain up to 10 / 8.5 − 1 = 18 %.")
    return drawing


def unequal_workers():
    drawing = Drawing("unequal-workers: one stage of a pipeline is slower than the others",
                      "Slowdown by stage: 0.998, 0.983, 0.983 and 1.232 for the last one. The step takes 2.173 s as recorded, 1.843 s with "
                      "equal workers, and 1.771 s if only the last stage becomes equal. The cost is 0.402 s, 18.5 per cent.")
    drawing.caption("Slowdown S by stage")
    chart = Chart(drawing, (-0.6, 3.6), (0, 1.4), left=52, right=300, height=96)
    slowdowns = (0.998, 0.983, 0.983, 1.232)
    for stage, slowdown in enumerate(slowdowns):
        chart.column(stage - 0.35, stage + 0.35, slowdown, "compute", label=f"{slowdown:.3f}")
    chart.x_ticks({0: "stage 0", 1: "stage 1", 2: "stage 2", 3: "stage 3"})
    chart.y_ticks({0: "0", 1: "1.0"})
    drawing.text(chart.x(3), chart.bottom + 29, "culprit", "i-bad", 11, "middle", bold=True)

    drawing.text(330, MARGIN + 12, "Length of a step", "i-muted")
    drawing.y = chart.top
    lengths = ((2.173, "as recorded"), (1.771, "stage 3 equal"), (1.843, "all equal"))
    bars = Timeline(drawing, 0, 2.173, left=330, right=668, gap=8)
    for length, words in lengths:
        drawing.box(bars.left, drawing.y, bars.x(length) - bars.left, 24, "compute")
        drawing.text(bars.left + 8, drawing.y + 16, f"{length:.3f} s: {words}", "t-compute")
        drawing.y += 32
    saved = chart.top + 32
    drawing.outline(bars.x(1.771), saved, bars.right - bars.x(1.771), 24, "l-bad")
    drawing.text((bars.x(1.771) + bars.right) / 2, saved + 16, "0.402 s", "i-bad", 12, "middle", bold=True)

    drawing.y = chart.bottom + 34
    drawing.conclusion("0.402 s of a 2.173 s step = 18.5 %: a warning.",
                       "share_of_loss = 0.402 / (2.173 − 1.843) = 122 %: stages 0 to 2 are faster than equal ones.",
                       gain="Gain up to 2.173 / 1.771 − 1 = 23 %.")
    return drawing


def pipeline_bubble():
    drawing = Drawing("pipeline-bubble: stages wait while the pipeline fills and drains",
                      "Four equal stages with four micro-batches. A step has 14 slots of 1 ms; each stage works in 8 of them and waits in 6, "
                      "42.9 per cent. Eight micro-batches of half the length make the step 11 ms.")
    time = Timeline(drawing, 0, 14, gap=6)
    time.steps([0, 14], "step: 14 ms")
    for stage in range(4):
        row = time.row(f"Stage {stage}")
        forward, backward = stage, 7 + 3 - stage
        for batch in range(4):
            row.block(forward + batch, forward + batch + 1, "compute", f"F{batch + 1}")
            row.block(backward + batch, backward + batch + 1, "activations", f"B{batch + 1}")

        for begin, end in ((0, forward), (forward + 4, backward), (backward + 4, 14)):
            if begin < end:
                row.idle(begin, end, "peer", "waits" if end - begin > 1 else "")
    drawing.text(MARGIN, drawing.y + 4, "F forward, B backward pass of a micro-batch", "i-muted", 11)
    drawing.y += 6

    drawing.conclusion("Each stage waits for 6 of 14 ms = 42.9 %: the ideal bubble (4 − 1) / (4 + 4 − 1).",
                       "No stage is the culprit: the schedule is. Up to 1.5 × the ideal bubble this is a warning.",
                       "8 micro-batches halve the waiting: 14 − 3 = 11 ms. Gain 14 / 11 − 1 = 27.3 %, not 14 / 8 − 1 = 75 %.")
    return drawing


def load_imbalance():
    drawing = Drawing("load-imbalance: now this device has more work, now that one",
                      "Three ranks in three steps of 6 ms. In each step another rank computes for 5 ms, the others for 4 and 3 ms. They wait for 2, "
                      "1 and 0 ms: 1 ms on average, 17 per cent of a step.")
    time = Timeline(drawing, 0, 18)
    time.steps([0, 6, 12, 18], "step: 6 ms")
    lengths = ((5, 4, 3), (3, 5, 4), (4, 3, 5))
    for rank in range(3):
        row = time.row(f"Rank {rank}", "now late, now not")
        for step in range(3):
            begin, compute = 6 * step, lengths[step][rank]
            is_longest = compute == 5
            row.block(begin, begin + compute, "compute", f"{compute} ms" + ", the longest" * is_longest)
            if not is_longest:
                row.idle(begin + compute, begin + 5, "peer", "1 ms" if compute == 4 else "wait 2 ms")
            row.block(begin + 5, begin + 6, "comm")

    drawing.text(time.left, drawing.y + 2, "Orange: the all-reduce's transfer of 1 ms", "i-muted", 11)
    drawing.y += 6
    drawing.conclusion("Mean wait (2 + 1 + 0) / 3 = 1 ms of a 6 ms step = 17 %: a warning.",
                       "load_balance = Σ compute / (n · Σ longest) = 36 / (3 · 15) = 0.80. No single rank is the culprit.",
                       gain="Gain up to 6 / 5 − 1 = 20 %.")
    return drawing


def exposed_communication():
    drawing = Drawing("exposed-communication: data is exchanged while nothing computes",
                      "A step of 10 ms. The second all-reduce runs for 2 ms after the backward pass has ended: 2 ms of exposed communication. The last "
                      "0.5 ms is waiting for a late peer and counts in another finding. The rest, 1.5 ms, is 15 per cent of the step.")
    time = Timeline(drawing, 0, 10)
    time.steps([0, 10], "step: 10 ms")
    compute = time.row("Compute stream", role="victim")
    compute.block(0, 3, "compute", "forward")
    compute.block(3, 7, "compute", "backward")
    compute.ghost(7, 9, "nothing computes")
    compute.block(9, 10, "compute", "optimizer")

    comm = time.row("Communication", role="culprit", below=36)
    comm.block(4, 6, "comm", "all-reduce 1")
    comm.block(6.2, 8.5, "comm", "all-reduce 2")
    comm.idle(8.5, 9, "peer")
    comm.bracket(4, 6, "hidden", "good")
    comm.bracket(7, 8.5, "2 ms exposed")
    comm.bracket(8.5, 9, "", "muted")
    drawing.text(time.x(9), comm.bottom + 35, "0.5 ms of it waits for a late peer: see straggler", "i-muted", 11, "end")

    drawing.conclusion("2.0 ms exposed − 0.5 ms for a late peer = 1.5 ms of a 10 ms step = 15 %: a warning.",
                       "Hidden communication costs nothing. What a late peer or a slow link causes is in their findings.",
                       gain="Gain up to 10 / 8.5 − 1 = 18 %.")
    return drawing


def small_buckets():
    drawing = Drawing("small-buckets: latency, not the link, sets the time of messages",
                      "The fitted line is 20 microseconds plus 10 for each MB. Below 2 MB the latency is more than half. 50 messages of 0.5 MB take "
                      "1,250 microseconds, one of 25 MB takes 270: 980 microseconds are saved, 9.8 per cent of a step of 10 ms.")
    drawing.caption("Time of an all-reduce by size: t = 20 µs + bytes / (100 GB/s)")
    chart = Chart(drawing, (0, 6), (0, 90), left=52, right=300, height=96)
    chart.line([(0, 20), (6, 80)], "accent")
    chart.points([(0.5, 25), (0.5, 26), (1, 29), (1, 31), (2, 40), (4, 61), (4, 59)], "ink")
    chart.line([(2, 0), (2, 40)], "muted", 1.2, "3 3")
    chart.words(2.15, 9, "2 MB = α·β", "i-muted")
    chart.words(0.15, 55, "small", "i-bad", bold=True)
    chart.y_ticks({0: "0", 20: "α = 20", 40: "40", 80: "80 µs"})
    chart.x_ticks({0: "0", 2: "2", 4: "4", 6: "6 MB"})

    drawing.y = chart.top + 8
    bars = Timeline(drawing, 0, 1300, left=330, gap=24)
    for words, latency, transfer in (("50 messages of 0.5 MB: 1,250 µs", 1000, 250), ("merged into one of 25 MB: 270 µs", 20, 250)):
        drawing.text(bars.left, drawing.y - 4, words, "i-muted")
        drawing.box(bars.left, drawing.y, bars.x(latency) - bars.left - 1, 24, "launch_latency")
        drawing.box(bars.x(latency), drawing.y, bars.x(latency + transfer) - bars.x(latency), 24, "comm")
        if latency > 500:
            drawing.text(bars.x(latency / 2), drawing.y + 16, "50 × 20 µs latency", "i-ink", 12, "middle", halo=True)
        drawing.text(bars.x(latency + transfer / 2), drawing.y + 16, "transfer", "t-comm", 11, "middle")
        drawing.y += 48

    drawing.y = chart.bottom + 20
    drawing.conclusion("20 µs × (50 − 1) = 0.98 ms of a 10 ms step = 9.8 %: a warning.",
                       "The cost is never more than the exposed communication (here 1.2 ms): hidden latency costs nothing.",
                       gain="Gain up to 10 / 9.02 − 1 = 11 %.")
    return drawing


def unbucketed_gradients():
    drawing = Drawing("unbucketed-gradients: one short all-reduce for each parameter",
                      "A step of 8 ms with 60 all-reduces of 40 microseconds each, 2.4 ms in all. 0.8 ms of them run while nothing computes.")
    time = Timeline(drawing, 0, 8)
    time.steps([0, 8], "step: 8 ms")
    compute = time.row("Compute stream")
    compute.block(0, 2, "compute", "forward")
    compute.block(2, 6, "compute", "backward")
    compute.block(6.8, 8, "compute", "optimizer")

    comm = time.row("Communication", role="culprit", below=22)
    comm.repeat(4.4, 6.8, 60, "comm")
    comm.words(0, "60 all-reduces, sizes not recorded")
    comm.bracket(4.4, 6, "hidden", "muted")
    comm.bracket(6, 6.8, "0.8 ms exposed", anchor="start")

    drawing.conclusion("60 × 40 µs = 2.4 ms of an 8 ms step: merging saves at most 30 %. A warning.",
                       "60 calls are at least 50, 40 µs is no more than 100 µs, and 0.8 ms of 8 ms = 10 % is exposed (at least 5 %).",
                       "No cost is given: how long merged messages would take is not known.")
    return drawing


def apparent_bandwidth():
    drawing = Drawing("apparent-bandwidth: only one of eight ranks is recorded",
                      "Rank 0's all-reduce of 100 MB takes 20 ms of a step of 50 ms. Ranks 1 to 7 have no recording, so nothing shows how much of the "
                      "20 ms is waiting. The bandwidth seems to be 8.75 GB/s.")
    time = Timeline(drawing, 0, 50)
    time.steps([0, 50], "step: 50 ms")
    first = time.row("Rank 0", "recorded", below=22)
    first.block(0, 28, "compute", "forward and backward")
    first.block(28, 48, "comm", "all-reduce, 100 MB: 20 ms")
    first.block(48, 50, "compute")

    others = time.row("Ranks 1 to 7", "not recorded")
    others.ghost(0, 50, "still computing, or already in the all-reduce?")
    first.bracket(28, 48, "waiting + transfer: unknown parts")

    drawing.conclusion("100 MB × bus factor 1.75 / 20 ms = 8.75 GB/s: below 10 GB/s, a lower bound.",
                       "Bus factor of an all-reduce of 8 ranks: 2 · 7 / 8. Calls took 21, 20 and 5 ms: the median is 20 ms.",
                       "The fastest one shows what links carry at least: 175 MB / 5 ms = 35 GB/s. No cost is given.")
    return drawing


DRAWINGS = {
    "straggler": straggler,
    "slow-link": slow_link,
    "unequal-workers": unequal_workers,
    "pipeline-bubble": pipeline_bubble,
    "load-imbalance": load_imbalance,
    "exposed-communication": exposed_communication,
    "small-buckets": small_buckets,
    "unbucketed-gradients": unbucketed_gradients,
    "apparent-bandwidth": apparent_bandwidth,
}
