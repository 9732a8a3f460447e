"""Drawings of the definitions of time, steps and ranges (docs/reference/DEFINITIONS.md)."""
from charts import Chart
from svg import SMALL, Drawing
from timeline import Timeline


def time_and_classes():
    drawing = Drawing("Time and classes: busy time is a union of intervals, not a sum of durations",
                      "Three streams in a window of 10 ms. Kernels and a memset compute from 0 to 5 ms, an all-reduce runs from 2 to 6 ms, a copy "
                      "from 7 to 9 ms. The union is 8 ms, the sum of durations is 11 ms.")
    time = Timeline(drawing, 0, 10, gap=8)
    time.steps([0, 10], "window: 10 ms")
    first = time.row("Stream 7", "class: compute")
    first.block(0, 4, "compute", "kernel: 4 ms")
    first.block(4, 5, "compute", "memset")
    time.row("Stream 13", "class: comm").block(2, 6, "comm", "ncclDevKernel_AllReduce: 4 ms")
    time.row("Stream 20", "class: copy").block(7, 9, "copy", "memcpy: 2 ms")

    union = time.row("Busy", "union of all ops", below=2)
    union.block(0, 6, "other", "0 to 6 ms")
    union.block(7, 9, "other", "7 to 9 ms")
    time.axis([0, 2, 4, 6, 8, 10], "ms")

    drawing.conclusion("Union: 6 + 2 = 8 ms = 80 %. The sum 4 + 1 + 4 + 2 = 11 ms would be 110 %.",
                       "Median and p95 are values that occurred: for steps of 10, 11, 13 and 20 ms they are 11 and 20 ms.")
    return drawing


def device_time():
    drawing = Drawing("Device time: a window is compute, exposed communication, exposed copies and idle time",
                      "Three streams in a window of 12 ms. Compute is 8 ms. The all-reduce from 3 to 7 ms is exposed for 2 ms, the copy from 6 to 9 ms "
                      "for 1 ms, and the device is idle for 1 ms.")
    time = Timeline(drawing, 0, 12, gap=8)
    time.steps([0, 12], "window_ns: 12 ms")
    compute = time.row("Stream 7")
    for begin, end in ((0, 5), (8, 10), (11, 12)):
        compute.block(begin, end, "compute", f"compute {end - begin} ms" if end - begin > 1 else "1 ms")
    time.row("Stream 13").block(3, 7, "comm", "all-reduce: comm_ns = 4 ms")
    time.row("Stream 20").block(6, 9, "copy", "copy_ns = 3 ms")

    split = time.row("Breakdown", "of the window")
    split.block(0, 5, "compute", "compute 5")
    split.block(5, 7, "comm", "comm 2")
    split.block(7, 8, "copy", "copy 1")
    split.block(8, 10, "compute", "compute 2")
    split.ghost(10, 11, "idle 1")
    split.block(11, 12, "compute", "comp 1")

    drawing.conclusion("compute 8 + exposed_comm 2 + exposed_copy 1 + idle 1 = window 12 ms.",
                       "busy = 12 − 1 = 11 ms, utilization = 11 / 12 = 92 %. overlap = 2 of the 4 ms of comm = 50 %.",
                       "From 6 to 7 ms copy and all-reduce overlap: this time is exposed communication, not exposed copy.")
    return drawing


def steps():
    drawing = Drawing("Steps: a step's window on the device, and its period",
                      "Host ranges of three steps: 0 to 4, 5 to 9 and 12 to 14 ms. The device's windows are 0 to 6, 6 to 11 and 12 to 15 ms. The period "
                      "of step 3 is 4 ms, because the 1 ms of idle time before it counts.")
    time = Timeline(drawing, 0, 17)
    host = time.row("Host thread", "ranges of steps", above=4)
    for step, (begin, end) in enumerate(((0, 4), (5, 9), (12, 14)), 1):
        host.block(begin, end, "host", f"step {step}")

    gpu = time.row("GPU 0", above=8, below=22)
    for begin, end, step in ((0, 3, 1), (3, 6, 1), (6, 8, 2), (8, 11, 2), (12.4, 15, 3)):
        gpu.block(begin, end, "compute", f"op of {step}")
    gpu.block(15.6, 16.8, "other", "op")
    for called, started in ((2.6, 3), (5.4, 6), (12.2, 12.4), (15.4, 15.6)):
        time.launch(host, called, gpu, started)
    for begin, end, words in ((0, 6, "window: 6 ms"), (6, 11, "window: 5 ms"), (12, 15, "window: 3 ms")):
        gpu.bracket(begin, end, words, "accent")
    drawing.text(time.x(16.2), gpu.bottom + 20, "outside", "i-muted", SMALL, "middle")

    periods = time.row("Periods")
    for begin, end in ((0, 6), (6, 11), (11, 15)):
        periods.ghost(begin, end, f"{end - begin} ms")
    time.axis([0, 4, 8, 12, 16], "ms")

    drawing.conclusion("Windows 6 + 5 + 3 ms and 1 ms idle before step 3 = periods 6 + 5 + 4 = 15 ms.",
                       "A window begins with the host range, or where the step before ended (step 2: at 6, not at 5 ms).",
                       "It ends with the last op launched in the range. An op launched outside all ranges counts as outside.")
    return drawing


def phases():
    drawing = Drawing("Phases: an op belongs to the phase in which its launch call begins",
                      "The host is in forward, backward and optimizer. The ops of backward run from 4 to 10 ms: compute for 5 ms, and an all-reduce "
                      "of 3 ms, which is exposed for 1 ms.")
    time = Timeline(drawing, 0, 12)
    host = time.row("Launching thread", "phases", above=4)
    for begin, end, name in ((0, 3, "forward: 3 ms"), (3, 6, "backward: 3 ms"), (6, 7, "optim.")):
        host.block(begin, end, "host", name)

    compute = time.row("Compute stream", above=8)
    compute.block(0.5, 4, "compute", "op of forward")
    compute.block(4, 9, "compute", "op of backward: 5 ms")
    compute.block(10, 11.2, "compute", "optim.")
    for called, started in ((0.3, 0.5), (3.4, 4), (6.6, 10)):
        time.launch(host, called, compute, started)

    comm = time.row("Communication", below=22)
    comm.block(7, 10, "comm", "all-reduce of backward")
    comm.bracket(7, 9, "2 ms hidden", "good")
    comm.bracket(9, 10, "1 ms exposed", anchor="start")
    comm.words(0, "also launched in backward, at 4.8 ms")
    time.axis([0, 2, 4, 6, 8, 10, 12], "ms")

    drawing.conclusion("backward: busy 6 ms (4 to 10) = compute 5 ms + exposed_comm 1 ms; host_ns = 3 ms.",
                       "forward: host 3 ms, busy 3.5 ms. The device runs ops of a phase after the host has left it.")
    return drawing


def programs_without_a_device():
    drawing = Drawing("Programs without a device: periods, waiting for data, inclusive and exclusive time",
                      "Step 1 ends at 10 ms, step 2 at 20 ms. The thread waits for data from 10 to 12 ms, so the period of step 2 is 10 ms with 2 ms of "
                      "waiting. The range forward takes 6 ms, and 4 ms of it are in matmul.")
    time = Timeline(drawing, 6, 22)
    steps_row = time.row("Training thread", "steps", above=4, below=22)
    steps_row.block(6, 10, "other", "step 1")
    steps_row.idle(10, 12, "input", "input")
    steps_row.block(12, 20, "other", "step 2: 8 ms")
    steps_row.idle(20, 22, "input", "input")
    steps_row.bracket(10, 20, "period of step 2: 10 ms", "accent")

    ranges = time.row("Its ranges")
    ranges.block(13, 19, "host", "forward: inclusive 6 ms")
    calls = time.row("Calls in them")
    calls.block(14, 18, "compute", "matmul: 4 ms")
    for begin in (13, 18):
        calls.ghost(begin, begin + 1, "1 ms")
    time.axis([6, 8, 10, 12, 14, 16, 18, 20, 22], "ms")

    drawing.conclusion("Period of step 2: 20 − 10 = 10 ms = 2 ms waiting for data + 8 ms of work.",
                       "forward: inclusive 6 ms, exclusive 1 + 1 = 2 ms. matmul: inclusive and exclusive 4 ms.",
                       "Waiting between two steps delays the step behind it. A step itself is no range.")
    return drawing


def idle_causes():
    drawing = Drawing("Idle causes: one gap is split where the cause changes",
                      "The device is idle from 60 to 238 microseconds. The launching thread is in a sync until 90, waits for data until 150, allocates "
                      "until 190 and launches until 230. The last 8 microseconds are launch latency.")
    time = Timeline(drawing, 0, 270)
    host = time.row("Launching thread", above=4)
    host.idle(0, 90, "sync", "cudaStreamSynchronize")
    host.idle(90, 150, "input", "DataLoader")
    host.idle(150, 190, "allocation", "cudaMalloc")
    host.block(190, 215, "host", "host")
    host.block(215, 230, "launch", "call")

    gpu = time.row("GPU 0", above=8, below=22)
    gpu.block(0, 60, "compute", "compute")
    pieces = ((60, 90, "sync"), (90, 150, "input"), (150, 190, "allocation"), (190, 230, "launch_starved"))
    for begin, end, cause in pieces:
        gpu.idle(begin, end, cause, f"{end - begin} µs")
    gpu.idle(230, 238, "launch_latency")
    gpu.block(238, 270, "compute", "next op")
    gpu.bracket(230, 238, "8 µs latency", "muted", anchor="start")
    time.launch(host, 230, gpu, 238)
    for begin, end, words in ((60, 90, "sync"), (90, 150, "input"), (150, 190, "allocation"), (190, 230, "launch-bound")):
        drawing.text(time.x((begin + end) / 2) - 3, gpu.bottom + 20, words, "i-muted", SMALL, "middle")
    time.axis([0, 60, 90, 150, 190, 230, 270], "µs")

    drawing.conclusion("sync 30 + input 60 + allocation 40 + launch_starved 40 + launch_latency 8 = gap 178 µs.",
                       "launch_latency is shorter than the limit (10 µs here): it is the device's own start.",
                       "An op that has been launched waits for what it needs: dependency, peer or graph, else unexplained.")
    return drawing


def launch():
    drawing = Drawing("Launch: launch latency of each call, and the depth of the queue",
                      "Five launch calls of 4 microseconds, kernels of 10. The latencies are 4, 6, 12, 18 and 6 microseconds. The queue is up to 3 deep "
                      "and empty for 20 of 60 microseconds.")
    calls = (-8, 0, 4, 8, 40)
    starts = (0, 10, 20, 30, 50)
    time = Timeline(drawing, -8, 60)
    host = time.row("Launch calls", "of stream 7", above=4)
    for name, called in zip("ABCDE", calls):
        host.block(called, called + 4, "launch", name)

    gpu = time.row("Kernels", "label: latency", above=14)
    for name, called, started in zip("ABCDE", calls, starts):
        gpu.block(started, started + 10, "compute", f"{name}: {started - called - 4} µs")
        time.launch(host, called + 4, gpu, started)
    drawing.y -= 8
    chart = Chart(drawing, (-8, 60), (0, 3.2), left=128, height=44)
    depths = [(-8, 1), (0, 1), (4, 2), (8, 3), (10, 2), (20, 1), (30, 0), (40, 1), (50, 0), (60, 0)]
    points = [point for (begin, depth), (end, _) in zip(depths, depths[1:]) for point in ((begin, depth), (end, depth))]
    chart.line(points)
    chart.y_ticks({0: "0", 1: "1", 3: "3"})
    chart.x_ticks({at: f"{at} µs" if at == 50 else f"{at}" for at in (0, 10, 20, 30, 40, 50)})
    drawing.text(12, chart.y(2), "Queue depth", "i-ink")
    chart.done()

    drawing.conclusion("Launch latency, start − end of the call: 4, 6, 12, 18, 6 µs. Median 6, p95 and max 18 µs.",
                       "Depth: +1 as a call begins, −1 as its kernel starts. At most 3, mean 58 / 60 = 0.97.",
                       "In the window from 0 to 60 µs nothing waits for 10 + 10 = 20 µs: 33 %.")
    return drawing


def kernels():
    drawing = Drawing("Kernels: device ops counted for the host ranges around their launch",
                      "The layer encoder contains linear and gelu. Their kernels take 4 and 1 ms, an op outside of all ranges takes 2 ms, and an op "
                      "without its launch in the trace 1 ms. The rows of each level sum to 8 ms.")
    time = Timeline(drawing, 0, 9)
    outer = time.row("layer", "outermost range", above=4)
    outer.block(0, 4, "host", "encoder")
    inner = time.row("op", "innermost range")
    inner.block(0.2, 2, "host", "linear")
    inner.block(2.2, 3.6, "host", "gelu")
    inner.words(3.9, "no range is open")

    gpu = time.row("GPU 0", "its ops", above=8, below=18)
    gpu.block(0.6, 4.6, "compute", "gemm: 4 ms")
    gpu.block(4.6, 5.6, "compute", "gelu")
    gpu.block(5.6, 7.6, "compute", "adam: 2 ms")
    gpu.block(7.6, 8.6, "other", "1 ms")
    for called, started in ((0.4, 0.6), (2.8, 4.6), (5, 5.6)):
        time.launch(inner, called, gpu, started)
    for begin, end, words in ((0.6, 4.6, "linear"), (4.6, 5.6, "gelu"), (5.6, 7.6, "outside"), (7.6, 8.6, "no_launch")):
        drawing.text(time.x((begin + end) / 2), gpu.bottom + 15, words, "i-muted", SMALL, "middle")
    time.axis([0, 2, 4, 6, 8], "ms")

    drawing.conclusion("Level op: linear 4 + gelu 1 + outside 2 + no_launch 1 = 8 ms of device ops.",
                       "Level layer: encoder 5 + outside 2 + no_launch 1 = 8 ms.",
                       "These rows are sums of durations. Where ops overlap, they sum to more than the busy time.")
    return drawing


DRAWINGS = {
    "definition-time-and-classes": time_and_classes,
    "definition-device-time": device_time,
    "definition-steps": steps,
    "definition-phases": phases,
    "definition-programs-without-a-device": programs_without_a_device,
    "definition-idle-causes": idle_causes,
    "definition-launch": launch,
    "definition-kernels": kernels,
}
