"""Drawings of the findings in which the host is the reason, and of errors and hangs (docs/reference/FINDINGS.md)."""
from svg import Drawing
from timeline import Timeline


def device_error():
    drawing = Drawing("device-error: a call reports the error of an earlier kernel",
                      "The host launches three kernels. The second one fails at 4 ms, so the third does not run. The call "
                      "cudaStreamSynchronize returns the error at 10 ms, 6 ms after the kernel failed.")
    time = Timeline(drawing, 0, 12)
    host = time.row("Host thread", above=4)
    host.repeat(0, 1.5, 3, "launch")
    host.words(1.5, "3 launches")
    host.idle(4.5, 10, "sync", "cudaStreamSynchronize")
    host.words(10, "returns error", "i-bad", bold=True)

    gpu = time.row("GPU 0", role="culprit", above=12, below=22)
    gpu.block(0.5, 2.5, "compute", "kernel 1")
    gpu.ghost(2.5, 4, "kernel 2", "bad")
    gpu.ghost(4.4, 7.4, "kernel 3: did not run")
    drawing.cross(time.x(4), gpu.top + 12)
    drawing.arrow(time.x(4) + 6, gpu.top - 1, time.x(10) - 2, host.bottom + 2, "bad", dashes="4 3")

    gpu.bracket(4, 10, "6 ms from the failure to the call that reports it")
    time.axis([0, 2, 4, 6, 8, 10, 12], "ms")
    drawing.conclusion("The first call that returns such an error is the evidence: critical, and first.",
                       "Kernel 2 was running and is missing in the trace. The finding has no cost per step.")
    return drawing


def hung_collective():
    drawing = Drawing("hung-collective: three ranks wait for one that did not call",
                      "Four ranks completed all-reduce number 41 in 3 ms. Ranks 0, 1 and 3 have waited in number 42 for 30 ms when the "
                      "recordings end. Rank 2 did not call it, so it is the culprit.")
    time = Timeline(drawing, 0, 46, gap=6)
    drawing.y += 4
    for rank in range(4):
        is_culprit = rank == 2
        row = time.row(f"Rank {rank}", role="culprit" if is_culprit else "victim")
        row.block(0, 2, "compute")
        row.block(2, 5, "comm", "#41")
        row.block(5, 10, "compute", "compute")
        if is_culprit:
            row.ghost(10, 40, "did not call #42: look at its stack", "bad")
        else:
            row.idle(10, 40, "peer", "in all-reduce #42, not completed")

    drawing.y += 22
    row.bracket(10, 40, "30 ms")
    row.bracket(2, 5, "3 ms", "muted")
    time.mark(40)
    for line, words in enumerate(("recordings", "end")):
        drawing.text(time.x(40) + 5, time.first_top + 10 + 13 * line, words, "i-muted", 11)
    time.axis([0, 10, 20, 30, 40], "ms")
    drawing.conclusion("30 ms is more than 20 ms and more than 5 × 3 ms: overdue, with a culprit: critical.",
                       "Ranks are compared by communicator and sequence number. The finding has no cost per step.")
    return drawing


def input_bound():
    drawing = Drawing("input-bound: the device waits for the next batch",
                      "Two steps of 10 ms. The loader needs 10 ms for a batch, the device 7.9 ms. The training thread waits for the batch, "
                      "and the device is idle for 2.1 ms of each step, 21 per cent.")
    time = Timeline(drawing, 0, 20)
    time.steps([0, 10, 20], "step: 10 ms")
    loader = time.row("Loader", role="culprit")
    loader.block(0, 2.1, "host")
    loader.block(2.1, 12.1, "host", "decode and augment batch 2: 10 ms")
    loader.block(12.1, 20, "host", "batch 3")

    thread = time.row("Training thread", "launches the work")
    for begin in (0, 10):
        thread.idle(begin, begin + 2.1, "input", "wait")
        thread.block(begin + 2.1, begin + 5, "launch", "launches")
        thread.idle(begin + 5, begin + 10, "input", "waits at no cost")

    gpu = time.row("GPU 0", role="victim", below=22)
    for begin in (0, 10):
        gpu.idle(begin, begin + 2.1, "input", "input")
        gpu.block(begin + 2.1, begin + 10, "compute", "compute 7.9 ms")
        gpu.bracket(begin, begin + 2.1, "2.1 ms idle", anchor="start")
    drawing.arrow(time.x(12.1), loader.bottom + 1, time.x(12.1), thread.top - 1)

    drawing.conclusion("2.1 ms of each 10 ms step = 21 %: critical.",
                       "Only idle time of the device counts: the thread also waits in DataLoader.__next__ while it computes.",
                       gain="Gain up to 10 / 7.9 − 1 = 27 %.")
    return drawing


def host_bound_launches():
    drawing = Drawing("host-bound-launches: the host launches the next op too late",
                      "A step of 10 ms. The host writes metrics for 3.8 ms before it launches the next op. The device finishes its work after "
                      "3.4 ms and is idle for 1.8 ms, 18 per cent of the step.")
    time = Timeline(drawing, 0, 10)
    time.steps([0, 10], "step: 10 ms")
    host = time.row("Launching thread", role="culprit")
    host.block(0, 1.2, "launch", "launches")
    host.block(1.2, 5, "host", "log_metrics: 3.8 ms")
    host.block(5, 6.4, "launch", "launches")
    host.block(6.4, 10, "host", "next batch")

    gpu = time.row("GPU 0", role="victim", above=8, below=22)
    gpu.block(0, 3.4, "compute", "compute 3.4 ms")
    gpu.idle(3.4, 5.2, "launch_starved", "launch-bound")
    gpu.block(5.2, 10, "compute", "compute 4.8 ms")
    gpu.bracket(3.4, 5.2, "1.8 ms idle")
    time.launch(host, 5.2, gpu, 5.2)

    drawing.conclusion("1.8 ms of a 10 ms step = 18 %: a warning.",
                       "host_op is log_metrics: the thread was in it for most of the idle time.",
                       "The first 2.2 ms of log_metrics cost nothing: the device still had work.",
                       gain="Gain up to 10 / 8.2 − 1 = 22 %.")
    return drawing


def launch_latency():
    drawing = Drawing("launch-latency: launching takes longer than the kernels",
                      "The host needs 7 microseconds to launch an op, the kernel runs for 4 microseconds. After each kernel the device is idle "
                      "for 3 microseconds. With 500 kernels a step this is 1.5 of 3.5 ms, 43 per cent.")
    time = Timeline(drawing, 0, 30)
    host = time.row("Launching thread", role="culprit", above=4)
    for begin in (0, 7, 14, 21):
        host.block(begin, begin + 7, "launch", "launch: 7 µs")

    gpu = time.row("GPU 0", role="victim", above=8, below=22)
    for begin in (8, 15, 22):
        gpu.block(begin, begin + 4, "compute", "4 µs")
        gpu.idle(begin + 4, begin + 6, "launch_starved")
        gpu.idle(begin + 6, begin + 7, "launch_latency")
        gpu.bracket(begin + 4, begin + 7, "3 µs")
        time.launch(host, begin - 1, gpu, begin)
    gpu.block(29, 30, "compute")
    time.launch(host, 28, gpu, 29)
    time.axis([0, 5, 10, 15, 20, 25, 30], "µs")

    drawing.conclusion("500 kernels × 3 µs = 1.5 ms of a 3.5 ms step = 43 %: critical.",
                       "Each gap: 2 µs until the launch call returns, then 1 µs of the device's own start latency.",
                       "The median kernel (4 µs) is below 10 µs, and no counted gap is longer than 10 µs.",
                       gain="Gain up to 3.5 / 2 − 1 = 75 %.")
    return drawing


def blocking_sync():
    drawing = Drawing("blocking-sync: the host waits for the device, then the device waits for the host",
                      "The host blocks for 1.8 ms in loss.item(). It returns 0.2 ms after the device has finished, and the next launch takes "
                      "0.1 ms. The device is idle for 0.3 ms. Four such syncs a step cost 1.2 of 10 ms, 12 per cent.")
    time = Timeline(drawing, 0, 3)
    host = time.row("Launching thread", role="culprit", above=4)
    host.block(0, 0.4, "launch", "launches")
    host.idle(0.4, 2.2, "sync", "loss.item(): blocked for 1.8 ms")
    host.block(2.2, 2.3, "launch")
    host.block(2.3, 3, "launch", "launches")

    gpu = time.row("GPU 0", role="victim", above=8, below=40)
    gpu.block(0, 2, "compute", "compute: what was launched before the sync")
    gpu.idle(2, 2.2, "sync")
    gpu.idle(2.2, 2.3, "launch_starved")
    gpu.block(2.3, 3, "compute", "compute")
    gpu.bracket(2, 2.3, "0.3 ms idle")
    drawing.text(time.x(2.15), gpu.bottom + 36, "0.2 ms in the sync + 0.1 ms late launch", "i-muted", 11, "middle")
    time.launch(host, 2.3, gpu, 2.3)

    time.axis([0, 0.5, 1, 1.5, 2, 2.5, 3], "ms", 1)
    drawing.conclusion("4 syncs × 0.3 ms = 1.2 ms of a 10 ms step = 12 %: a warning.",
                       "The late launch counts, too: the sync left nothing queued. Blocking itself costs nothing.",
                       gain="Gain up to 10 / 8.8 − 1 = 14 %.")
    return drawing


def allocation_in_step():
    drawing = Drawing("allocation-in-step: the device waits for a call that frees or allocates memory",
                      "A step of 10 ms. The host is in cudaFree from 2.6 to 4.4 ms. The device finishes at 4 ms and is idle for 0.4 ms until the "
                      "call returns: 4 per cent of the step.")
    time = Timeline(drawing, 0, 10)
    time.steps([0, 10], "step: 10 ms")
    host = time.row("Launching thread", role="culprit")
    host.block(0, 2.6, "launch", "launches")
    host.idle(2.6, 4.4, "allocation", "cudaFree")
    host.block(4.4, 7, "launch", "launches")

    gpu = time.row("GPU 0", role="victim", above=8, below=22)
    gpu.block(0, 4, "compute", "compute: cudaFree waits for it")
    gpu.idle(4, 4.4, "allocation")
    gpu.idle(4.4, 4.5, "launch_starved")
    gpu.block(4.5, 10, "compute", "compute")
    gpu.bracket(4, 4.4, "0.4 ms idle")
    time.launch(host, 4.5, gpu, 4.5)

    drawing.conclusion("0.4 ms of a 10 ms step = 4 %: a warning, as from 2 % on.",
                       "The 0.1 ms until the next launch returns is not in it: it is launch-bound time.",
                       gain="Gain up to 10 / 9.6 − 1 = 4 %.")
    return drawing


DRAWINGS = {
    "device-error": device_error,
    "hung-collective": hung_collective,
    "input-bound": input_bound,
    "host-bound-launches": host_bound_launches,
    "launch-latency": launch_latency,
    "blocking-sync": blocking_sync,
    "allocation-in-step": allocation_in_step,
}
