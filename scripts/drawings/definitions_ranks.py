"""Drawings of the definitions of communication, pipelines, the critical path and clocks (docs/reference/DEFINITIONS.md)."""
from svg import MARGIN, SMALL, Drawing
from timeline import Timeline


def communication():
    drawing = Drawing("Communication: transfer, wait, arrival skew and bandwidth of one all-reduce",
                      "Four ranks in an all-reduce of 100 MB. They arrive at 0, 1, 3 and 2 ms and end at 5 ms. The transfer is 2 ms, the waits are 3, 2, 0 "
                      "and 1 ms, and the arrival skew is 3 ms.")
    time = Timeline(drawing, -1, 6, gap=6)
    drawing.y += 4
    for rank, begin in enumerate((0, 1, 3, 2)):
        is_last = begin == 3
        row = time.row(f"Rank {rank}", note="last arriver" if is_last else "", below=22 if rank == 3 else 0)
        row.block(-1, begin, "compute", "compute")
        if not is_last:
            row.idle(begin, 3, "peer", f"wait {3 - begin} ms")
        row.block(3, 5, "comm", "transfer 2 ms")
        row.words(5, f"dur {5 - begin} ms")
    row.bracket(0, 3, "arrival skew: 3 − 0 = 3 ms", "bad")
    time.axis([0, 1, 2, 3, 4, 5], "ms")

    drawing.conclusion("transfer = the shortest duration = 2 ms; wait = dur − transfer = 3, 2, 0 and 1 ms.",
                       "algbw = 100 MB / 2 ms = 50 GB/s. busbw = 50 × 2 · (4 − 1) / 4 = 75 GB/s.",
                       "Waits need no common clock, the arrival skew does.")
    return drawing


def waiting_for_peers():
    drawing = Drawing("Waiting for peers: a wait is charged to what the late rank did more",
                      "Both ranks are level at 0 ms. Rank 0 computes for 3 ms and waits for 2 ms. Rank 1 computes for 4 ms and waits for input for 1 ms. "
                      "One ms is charged to compute, one to input, and rank 0 loses 1.5 of the 2 ms.")
    time = Timeline(drawing, 0, 7)
    compute = time.row("Rank 0", "compute stream", above=4)
    compute.block(0, 3, "compute", "own time: compute 3 ms")
    compute.block(3, 4.5, "compute", "hides 1.5 ms")
    comm = time.row("Rank 0", "all-reduce: 3 ms", below=22)
    comm.idle(3, 5, "peer", "wait 2 ms")
    comm.block(5, 6, "comm", "transfer")
    comm.bracket(4.5, 6, "1.5 ms not hidden")

    late = time.row("Rank 1", role="culprit", below=22)
    late.block(0, 3, "compute", "compute 3 ms")
    late.idle(3, 4, "input", "input 1 ms")
    late.block(4, 5, "compute", "comp. 1 ms")
    late.block(5, 6, "comm", "transfer")
    late.bracket(0, 5, "D = (4 − 3) ms of compute + 1 ms of input", "bad")
    time.mark(0)
    time.axis([0, 1, 2, 3, 4, 5, 6], "ms")

    drawing.conclusion("Wait of rank 0: 3 − 1 = 2 ms = 1 ms charged to compute + 1 ms charged to input.",
                       "exposed_late = min(2, 3 − 1.5) = 1.5 ms: without rank 1's delay compute would last until 4.5 ms.",
                       "Both were level when their step began (0 ms): no earlier collective joined them.")
    return drawing


def pipelines():
    drawing = Drawing("Pipelines: micro-batches, schedule and bubble of two stages",
                      "Two stages with three micro-batches. Forward passes take 1 ms, backward passes 2 ms. The step takes 12 ms, each stage works for 9 "
                      "and waits for 3: a quarter.")
    time = Timeline(drawing, 0, 12)
    time.steps([0, 12], "step: 12 ms")
    passes = ((("F1", 0), ("F2", 1), ("B1", 4), ("F3", 6), ("B2", 7), ("B3", 10)), (("F1", 1), ("B1", 2), ("F2", 4), ("B2", 5), ("F3", 7), ("B3", 8)))
    idle = (((2, 4), (9, 10)), ((0, 1), (10, 12)))
    rows = []
    for stage in range(2):
        row = time.row(f"Stage {stage}", above=8 if stage else 0)
        rows.append(row)
        for name, begin in passes[stage]:
            is_forward = name[0] == "F"
            row.block(begin, begin + (1 if is_forward else 2), "compute" if is_forward else "activations", name)
        for begin, end in idle[stage]:
            row.idle(begin, end, "peer", f"{end - begin} ms")

    for sent in (1, 2, 7):
        drawing.arrow(time.x(sent), rows[0].bottom + 1, time.x(sent), rows[1].top - 1)
    for sent in (4, 7, 10):
        drawing.arrow(time.x(sent) - 5, rows[1].top - 1, time.x(sent) - 5, rows[0].bottom + 1, "accent")
    drawing.text(MARGIN, drawing.y + 4, "F forward, B backward pass. Down: activations, up: gradients, 3 messages each", "i-muted", SMALL)
    drawing.y += 6

    drawing.conclusion("bubble_share = (3 + 3) / (12 + 12) = 25 % = ideal_share (2 − 1) / (3 + 2 − 1).",
                       "m = 3 micro-batches. 1f1b: the first gradient crosses at 4 ms, before the last activation at 7 ms.",
                       "stage_imbalance = most compute / mean = 9 / 9 = 1. bubble_ns of stage 0: 2 + 1, of stage 1: 1 + 2 ms.")
    return drawing


def timelines_of_pipelines():
    drawing = Drawing("Timelines of pipelines: workers become devices, and messages join their steps",
                      "Four workers: two stages times two data ranks. Stage 0 of each data rank has a step from 0 to 10 ms with 3 ms of idle time before "
                      "messages, stage 1 from 1 to 8 ms.")
    time = Timeline(drawing, 0, 11, left=150, gap=8)
    drawing.y += 4
    passes = ((("F1", 0, 1), ("F2", 1, 2), ("B1", 4, 6), ("B2", 7, 9)), (("F1", 1, 2), ("B1", 2, 4), ("F2", 4, 5), ("B2", 5, 7)))
    above = None
    for data in range(2):
        for stage in range(2):
            row = time.row(f"Device {2 * stage + data}", f"PP rank {stage}, DP rank {data}", above=8 * stage, below=22 * stage * data)
            for name, begin, end in passes[stage]:
                row.block(begin, end, "compute" if name[0] == "F" else "activations", name)
            for begin, end in ((2, 4), (6, 7)) if stage == 0 else ():
                row.idle(begin, end, "peer", f"{end - begin} ms")
            end = 9 if stage == 0 else 7
            row.block(end, end + 1, "comm", "RS")
            if stage == 0:
                above = row
            for sent in (1, 2) if stage else ():
                drawing.arrow(time.x(sent), above.bottom + 1, time.x(sent), row.top - 1)
            for sent in (4, 7) if stage else ():
                drawing.arrow(time.x(sent) - 1, row.top - 1, time.x(sent) - 1, above.bottom + 1, "accent")
    row.bracket(1, 8, "step of stage 1: 1 to 8 ms", "muted")
    time.axis([0, 2, 4, 6, 8, 10], "ms")

    drawing.conclusion("A step of stage 0 lasts 10 ms from first to last event: 6 ms passes, 1 ms RS, 3 ms peer.",
                       "Device = stage · 2 + data rank. The n-th message sent (arrow) is the n-th one that the neighbour receives.",
                       "RS: grads-reduce-scatter joins the same stage of all data ranks, devices 0 and 1, and 2 and 3.")
    return drawing


def slowdown():
    drawing = Drawing("Slowdown: the same schedule with recorded and with equal passes",
                      "Two stages, two micro-batches. Passes of stage 0 take 1 ms, passes of stage 1 take 2 ms: the step takes 10 ms. With equal passes of "
                      "1.5 ms it takes 9 ms.")
    time = Timeline(drawing, 0, 11.6, gap=6)
    drawing.y += 4
    recorded = (("Stage 0", "recorded", 1, (0, 1, 5, 9)), ("Stage 1", "recorded", 2, (1, 5, 3, 7)))
    equal = (("Stage 0", "equal", 1.5, (0, 1.5, 4.5, 7.5)), ("Stage 1", "equal", 1.5, (1.5, 4.5, 3, 6)))
    for stages, end in ((recorded, 10), (equal, 9)):
        for name, note, length, begins in stages:
            row = time.row(name, note)
            for words, begin in zip(("F1", "F2", "B1", "B2"), begins):
                row.block(begin, begin + length, "compute" if words[0] == "F" else "activations", words)
            if name == "Stage 0":
                row.words(end, f"T = {end} ms", "i-ink", bold=True)
        drawing.y += 4
    time.axis([0, 2, 4, 6, 8, 10], "ms")

    drawing.conclusion("S = T(recorded) / T(equal) = 10 / 9 = 1.11.",
                       "S by stage: only stage 0 as recorded 8 / 9 = 0.89, only stage 1 as recorded 11 / 9 = 1.22.",
                       "M_S = (10 − 8) / (10 − 9) = 2: the last stage equal gives 8 ms. Above 1: stage 0 is faster than equal.")
    return drawing


def critical_path():
    drawing = Drawing("Critical path: from the last op back to what was waited for last",
                      "Rank 1 computes for 140 microseconds. The transfer of the all-reduce takes 20, the sync returns after 6, the host works for 34, the "
                      "launch takes 22 and the last kernel 18. Together 240.")
    time = Timeline(drawing, 0, 240)
    host = time.row("Rank 0, host", above=2)
    host.block(0, 20, "launch", "launch")
    host.idle(20, 166, "sync", "cudaStreamSynchronize")
    host.block(166, 200, "host", "log: 34")
    host.block(200, 216, "launch", "call")

    first = time.row("Rank 0, GPU", above=2)
    first.block(0, 80, "compute", "slack 60 µs")
    first.idle(80, 140, "peer", "waits for rank 1")
    first.block(140, 160, "comm", "comm")
    first.block(222, 240, "compute", "last")
    second = time.row("Rank 1, GPU", above=2)
    second.block(0, 140, "compute", "compute: 140 µs")
    second.block(140, 160, "comm", "comm")

    steps = [(0, second), (140, second), (140, first), (160, first), (160, host), (216, host), (222, first), (240, first)]
    drawing.polyline([(time.x(at), row.bottom + 4) for at, row in steps], "l-bad", 3)
    drawing.text(time.x(165), second.top + 16, "red line: the critical path", "i-bad", bold=True)
    path = time.row("Its classes", "µs, in all 240", above=6)
    for begin, end, kind, words in ((0, 140, "compute", "compute 140"), (140, 160, "comm", "comm"), (166, 200, "host", "host 34"),
                                    (200, 222, "launch", "launch"), (222, 240, "compute", "18")):
        path.block(begin, end, kind, words)
    path.idle(160, 166, "sync")
    time.axis([0, 40, 80, 120, 160, 200, 240], "µs")

    drawing.conclusion("compute 158 + communication 20 + sync 6 + host 34 + launch 22 = window 240 µs.",
                       "At 140 µs the path jumps to rank 1, the last participant. The first op of rank 0 has 140 − 80 = 60 µs of slack.")
    return drawing


def clocks():
    drawing = Drawing("Clocks: the ends of matched collectives show how far two clocks differ",
                      "Three all-reduces end at 3, 6 and 9 ms on rank 0 and at 4.997, 8.000 and 11.006 ms on rank 1's clock. Minus 2 ms, the ends differ "
                      "by 3, 0 and 6 microseconds.")
    time = Timeline(drawing, 0, 11.4)
    starts = ((1.5, 4.6, 8), (2.2, 5.4, 7.2))
    ends = ((3, 6, 9), (4.997, 8, 11.006))
    first = time.row("Rank 0", above=4)
    second = time.row("Rank 1", "as recorded", below=2)
    third = time.row("Rank 1", "t − 2.000 ms", below=2)
    for at in range(3):
        first.block(starts[0][at], ends[0][at], "comm", f"#{at + 1}")
        second.block(starts[1][at] + 2, ends[1][at], "other", f"#{at + 1}")
        third.block(starts[1][at], ends[1][at] - 2, "comm", f"#{at + 1}")
        difference = round((ends[1][at] - 2 - ends[0][at]) * 1000)
        third.words(ends[0][at], f"{abs(difference)} µs", "i-ink", bold=True)
        drawing.line(time.x(ends[0][at]), first.top - 4, time.x(ends[0][at]), third.bottom + 4, "l-muted", 1.2, "3 3")
    time.axis([0, 3, 6, 9], "ms")

    drawing.conclusion("t' = −2.000 ms + 1 · t: the ends differ by 3, 0 and 6 µs. Residual: median 3 µs, p95 6 µs.",
                       "Starts differ by 0.7 to 0.8 ms, because the ranks arrive at different times. Only ends agree.")
    return drawing


DRAWINGS = {
    "definition-communication": communication,
    "definition-waiting-for-peers": waiting_for_peers,
    "definition-pipelines": pipelines,
    "definition-timelines-of-pipelines": timelines_of_pipelines,
    "definition-slowdown": slowdown,
    "definition-critical-path": critical_path,
    "definition-clocks": clocks,
}
