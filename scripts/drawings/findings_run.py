"""Drawings of the findings about steps, the machine and the recording (docs/reference/FINDINGS.md)."""
from charts import Chart
from svg import Drawing
from timeline import Timeline


def step_outliers():
    drawing = Drawing("step-outliers: a few steps take much longer",
                      "Twenty steps: eighteen take 10 ms, steps 8 and 16 take 20 ms because a checkpoint is written. Their 20 ms beyond the median, "
                      "spread over all steps, are 1 ms a step.")
    drawing.caption("Length of each step, ms")
    chart = Chart(drawing, (-0.6, 19.6), (0, 24), left=52, height=100)
    for step in range(20):
        is_outlier = step in (8, 16)
        chart.column(step - 0.36, step + 0.36, 10, "compute")
        if is_outlier:
            chart.column(step - 0.36, step + 0.36, 20, "host", 10, "20 ms")

    chart.level(15, "1.5 × median = 15 ms", anchor="start")
    chart.words(8.6, 17.5, "+10 ms: save_checkpoint", "i-bad", bold=True)
    chart.y_ticks({0: "0", 10: "10", 20: "20"})
    chart.x_ticks({0: "0", 8: "step 8", 16: "step 16", 19: "19"})
    chart.done()
    drawing.conclusion("2 × (20 − 10) ms / 20 steps = 1 ms of a mean step of 11 ms = 9 %: a warning.",
                       "host_op is save_checkpoint. Tukey's outer fence holds, too: the quartiles of the steps are equal.",
                       gain="Gain up to 11 / 10 − 1 = 10 %.")
    return drawing


def warmup_in_measurement():
    drawing = Drawing("warmup-in-measurement: the first measured steps are much longer",
                      "Step 0 takes 40 ms and is left out as warm-up. Steps 1 to 3 take 18, 17 and 16 ms, twelve later ones 10 ms each. The three add "
                      "1.4 ms to the mean.")
    drawing.caption("Length of each step, ms")
    lengths = [40, 18, 17, 16] + [10] * 12
    chart = Chart(drawing, (-0.6, 15.6), (0, 46), left=52, height=112)
    for step, length in enumerate(lengths):
        kind = "other" if step == 0 else "workspace" if length > 10 else "compute"
        chart.column(step - 0.38, step + 0.38, length, kind, label=str(length) if length > 10 else "")

    chart.level(15, "1.5 × median of the later half = 15 ms")
    chart.words(0.5, 36, "step 0: left out already", "i-muted")
    chart.words(3.6, 24, "steps 1 to 3: still warming up", "i-bad", bold=True)
    chart.y_ticks({0: "0", 10: "10", 40: "40"})
    chart.x_ticks({0: "step 0", 3: "3", 15: "15"})
    chart.done()
    drawing.conclusion("Mean of steps 1 to 15: (18 + 17 + 16 + 12 × 10) / 15 = 11.4 ms, 1.4 ms too much.",
                       "1.4 of 11.4 ms = 12 %, at least 2 %: a warning. steps_to_leave_out = 4 includes step 0.",
                       "No gain is promised, and the finding is never critical: leaving steps out makes none faster.")
    return drawing


def oversubscribed_host():
    drawing = Drawing("oversubscribed-host: a device's thread waits for a core",
                      "An operation of a host device is launched at 1 ms. Its thread gets core 3 only at 1.3 ms, because a thread of another device runs "
                      "there. Three such waits of 0.3 ms cost 0.9 of 10 ms.")
    time = Timeline(drawing, 0, 3)
    launching = time.row("Launching thread", above=4)
    launching.block(0.4, 0.7, "launch", "launch")
    device = time.row("Host device 0", role="victim", above=8, below=22)
    device.block(0, 1, "compute", "operation 1")
    device.idle(1, 1.3, "launch_latency", "ready")
    device.block(1.3, 3, "compute", "operation 2")
    device.bracket(1, 1.3, "0.3 ms without a core")
    time.launch(launching, 0.7, device, 1.02)

    core = time.row("Core 3", role="culprit")
    core.block(0, 1, "compute", "thread of host device 0")
    core.block(1, 1.3, "other", "other")
    core.block(1.3, 3, "compute", "thread of host device 0")
    time.axis([0, 0.5, 1, 1.5, 2, 2.5, 3], "ms", 1)

    drawing.conclusion("3 waits × 0.3 ms = 0.9 ms of a 10 ms step = 9 %: a warning.",
                       "Operation 2 was launched at 0.7 ms. A piece above 50 µs counts: a free core wakes a thread within tens of µs.",
                       "2 host devices × 6 threads = 12 threads on 8 cores: that alone is a warning.",
                       gain="Gain up to 10 / 9.1 − 1 = 10 %.")
    return drawing


def profiler_overhead():
    drawing = Drawing("profiler-overhead: recording each Python call slows the host",
                      "A step of 12 ms with 4,000 recorded Python frames of half a microsecond each: 2 ms of recording. The device waits for late "
                      "launches three times, 3 ms in all.")
    time = Timeline(drawing, 0, 12)
    time.steps([0, 12], "step: 12 ms, recorded with_stack")
    host = time.row("Python frames", role="culprit", below=18)
    host.repeat(0, 12, 120, "profiler", 0.6)
    drawing.text(time.left, host.bottom + 16, "4,000 frames × 0.5 µs = 2 ms of recording", "i-muted", 11)

    gpu = time.row("GPU 0", role="victim", below=22)
    for begin in (0, 4, 8):
        gpu.block(begin, begin + 3, "compute", "compute 3 ms")
        gpu.idle(begin + 3, begin + 4, "launch_starved")
        gpu.bracket(begin + 3, begin + 4, "1 ms", anchor="middle" if begin < 8 else "end")

    drawing.conclusion("Late launches: 3 ms of a 12 ms step = 25 %. Recording the frames: 2 ms.",
                       "2 ms is at least half of the 3 ms that host-bound-launches costs: this finding comes first.",
                       "No cost is given: a run without the profiler does not pay for it. The rule needs 100 frames a step.")
    return drawing


def unexplained_idle():
    drawing = Drawing("unexplained-idle: the trace does not show why the device waits",
                      "A step of 10 ms. Before an operation whose launch is not in the trace the device is idle for 1.2 ms, 12 per cent of the step. The "
                      "other gap, 0.3 ms, has a cause: a late launch.")
    time = Timeline(drawing, 0, 10)
    time.steps([0, 10], "step: 10 ms")
    host = time.row("Host thread", "as recorded")
    host.block(0, 1.6, "launch", "launches")
    host.block(1.6, 2.6, "host", "range")
    host.block(2.6, 3.3, "launch")
    host.ghost(4, 7.4, "no launch in the trace", "bad")

    gpu = time.row("GPU 0", role="victim", above=8, below=22)
    gpu.block(0, 3, "compute", "compute")
    gpu.idle(3, 3.3, "launch_starved")
    gpu.block(3.3, 5.2, "compute", "compute")
    gpu.idle(5.2, 6.4, "unexplained", "cause?")
    gpu.block(6.4, 10, "compute", "op without its launch")
    gpu.bracket(3, 3.3, "0.3 ms explained", "muted")
    gpu.bracket(5.2, 6.4, "1.2 ms unexplained")
    time.launch(host, 3.3, gpu, 3.3)

    drawing.conclusion("1.2 ms of a 10 ms step = 12 %: a warning, as above 5 %.",
                       "Record the launching process's runtime and driver calls: then the gap gets a cause.",
                       gain="Gain up to 10 / 8.8 − 1 = 14 %.")
    return drawing


def trace_quality():
    drawing = Drawing("trace-quality: faults of the trace lower its score",
                      "The score starts at 100. A missing rank takes 20, launches without ops, 3 per cent of the events, take 3, a trace that was cut "
                      "off takes 5. 72 are left, below 90.")
    time = Timeline(drawing, 0, 108, left=200, gap=5)
    drawing.y += 4
    left = 100
    for words, loses in (("Missing rank", 20), ("Launches without ops: 3 %", 3), ("The trace was cut off", 5)):
        row = time.row(words)
        row.block(0, left - loses, "other")
        row.ghost(left - loses, left, look="bad")
        row.words(left, f"− {loses}", "i-bad", bold=True)
        left -= loses

    score = time.row("Score")
    score.block(0, left, "compute", f"{left}")
    time.mark(90)
    time.axis([0, 20, 40, 60, 80, 90, 100], "points")
    drawing.conclusion("100 − 20 − 3 − 5 = 72: below 90, a warning. From 90 on it would be an info.",
                       "3 % of all events are launches without ops. Each kind of fault loses at least 1 and at most 40.",
                       "Copy the missing rank's file into the folder first: that alone gives 92.")
    return drawing


DRAWINGS = {
    "step-outliers": step_outliers,
    "warmup-in-measurement": warmup_in_measurement,
    "oversubscribed-host": oversubscribed_host,
    "profiler-overhead": profiler_overhead,
    "unexplained-idle": unexplained_idle,
    "trace-quality": trace_quality,
}
