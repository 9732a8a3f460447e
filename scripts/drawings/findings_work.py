"""Drawings of the findings about the devices' own work: clocks, copies and kernels (docs/reference/FINDINGS.md)."""
from charts import Chart, cells
from svg import MARGIN, Drawing
from timeline import Timeline


def throttling():
    drawing = Drawing("throttling: the clock drops and the same kernels take longer",
                      "The SM clock falls from 1,980 to 1,485 MHz for 4 ms of a step of 10 ms. Kernels that take 1 ms at the full clock take 1.33 ms "
                      "there. A quarter of the 4 ms is lost: 1 ms, 10 per cent of the step.")
    drawing.caption("SM clock of GPU 0 (counter)")
    chart = Chart(drawing, (0, 10), (1200, 2080), left=128, height=74)
    chart.line([(0, 1980), (3, 1980), (3, 1485), (7, 1485), (7, 1980), (10, 1980)])
    chart.level(1782, "0.9 × 1,980 = 1,782 MHz")
    chart.words(0.1, 1830, "1,980 MHz sustained", "i-accent")
    chart.words(5, 1300, "1,485 MHz = 0.75 × sustained (limit: power_cap)", "i-bad", "middle", bold=True)
    chart.y_ticks({1485: "1,485", 1980: "1,980"})

    drawing.y = chart.bottom + 10
    time = Timeline(drawing, 0, 10)
    gpu = time.row("GPU 0", role="culprit", below=22)
    for at in range(3):
        gpu.block(at, at + 1, "compute", "1 ms")
        gpu.block(3 + at * 4 / 3, 3 + (at + 1) * 4 / 3, "compute", "1.33 ms")
        gpu.block(7 + at, 8 + at, "compute", "1 ms")
    gpu.bracket(3, 7, "4 ms below the limit")

    drawing.conclusion("4 ms × (1 − 0.75) = 1 ms of a 10 ms step = 10 %: a warning.",
                       "It is no more than the same kernels take longer: 3 × 0.33 ms = 1 ms.",
                       gain="Gain up to 10 / 9 − 1 = 11 %.")
    return drawing


def pageable_copies():
    drawing = Drawing("pageable-copies: a copy from memory that is not page-locked holds up the host",
                      "The host is in cudaMemcpy for 3 ms of a step of 12 ms. For 0.6 ms the call copies into the driver's buffer, then the copy to the "
                      "device takes 2.4 ms. No kernel can be launched meanwhile: 25 per cent of the step.")
    time = Timeline(drawing, 0, 12)
    time.steps([0, 12], "step: 12 ms")
    host = time.row("Launching thread", role="culprit")
    host.block(0, 3, "launch", "cudaMemcpy, pageable")
    host.block(3, 5, "launch", "launches")

    gpu = time.row("GPU 0", role="victim", above=8, below=38)
    gpu.idle(0, 0.6, "sync")
    gpu.block(0.6, 3, "copy", "copy to device")
    gpu.block(3.1, 12, "compute", "compute 8.9 ms")
    gpu.bracket(0, 3, "3 ms", anchor="middle")
    drawing.text(time.left, gpu.bottom + 36, "0.6 ms into the driver's buffer + 2.4 ms of exposed copy", "i-muted", 11)
    time.launch(host, 3.1, gpu, 3.1)

    drawing.conclusion("3 ms of a 12 ms step = 25 %: critical.",
                       "Pinned memory and cudaMemcpyAsync let the copy of the next batch run behind the 8.9 ms of compute.",
                       "The 0.1 ms until the first kernel is launched is not in it: see blocking-sync.",
                       gain="Gain up to 12 / 9 − 1 = 33 %.")
    return drawing


def serialized_copies():
    drawing = Drawing("serialized-copies: memory is copied while nothing else runs",
                      "A step of 10 ms. Compute waits 1.6 ms for the copy of its batch, 16 per cent. A second copy of 0.8 ms runs while the device "
                      "computes and costs nothing.")
    time = Timeline(drawing, 0, 10)
    time.steps([0, 10], "step: 10 ms")
    copy = time.row("Copy stream", role="culprit", below=22)
    copy.block(0, 1.6, "copy", "batch")
    copy.block(5, 5.8, "copy", "labels")
    copy.bracket(0, 1.6, "1.6 ms exposed")
    copy.bracket(5, 5.8, "hidden: costs nothing", "good")

    compute = time.row("Compute stream", role="victim")
    compute.idle(0, 1.6, "dependency", "waits for it")
    compute.block(1.6, 10, "compute", "compute 8.4 ms")

    drawing.conclusion("1.6 ms of a 10 ms step = 16 %: a warning.",
                       "Nothing computes or communicates meanwhile. Copied during the step before, it would be hidden.",
                       gain="Gain up to 10 / 8.4 − 1 = 19 %.")
    return drawing


def tensor_cores_unused():
    drawing = Drawing("tensor-cores-unused: matrix products run on plain cores",
                      "A step of 10 ms has 6 ms of sgemm kernels in single precision. No rate on tensor cores is recorded, so half of it counts as lost: "
                      "3 ms, 30 per cent of the step.")
    time = Timeline(drawing, 0, 10)
    drawing.y += 4
    recorded = time.row("As recorded", role="culprit")
    recorded.block(0, 6, "compute", "volta_sgemm_128x64_nn: 6 ms")
    recorded.block(6, 10, "other", "other work: 4 ms")

    changed = time.row("On tensor cores", "estimate", below=22)
    changed.block(0, 3, "compute", "3 ms")
    changed.block(3, 7, "other", "other work: 4 ms")
    changed.ghost(7, 10, "saved", "bad")
    changed.bracket(7, 10, "3 ms")
    time.axis([0, 2, 4, 6, 8, 10], "ms")

    drawing.conclusion("Half of 6 ms = 3 ms of a 10 ms step = 30 %: a warning, never more.",
                       "Half, because networks get 1.5 to 3 × in practice. A rate of other kernels on tensor cores replaces it.",
                       gain="Gain up to 10 / 7 − 1 = 43 %.")
    return drawing


def small_grids():
    drawing = Drawing("small-grids: a kernel has fewer blocks than the GPU has SMs",
                      "33 of 132 SMs have a block, three quarters are empty. The kernel takes 23 microseconds, 3 of them would pass for an empty one. "
                      "The rest times 75 per cent is 15 microseconds; 100 such kernels cost 1.5 of 10 ms.")
    drawing.caption("132 SMs while the kernel runs")
    kinds = ["compute" if at % 4 == 1 else None for at in range(132)]
    _, height = cells(drawing, MARGIN, drawing.y + 2, 22, kinds, 13)
    for line, (words, look) in enumerate((("33 blocks: one on each of 33 SMs", "i-accent"), ("99 SMs = 75 % are empty", "i-bad"))):
        drawing.text(320, drawing.y + 30 + 22 * line, words, look, bold=True)

    drawing.y += height + 14
    time = Timeline(drawing, 0, 26)
    gpu = time.row("GPU 0", role="culprit")
    gpu.block(0, 3, "other", "3 µs")
    gpu.block(3, 8, "compute", "25 %: 5 µs")
    gpu.ghost(8, 23, "75 % of the SMs are empty: 15 µs lost", "bad")
    gpu.words(23, "23 µs")

    drawing.conclusion("100 kernels × (23 − 3) µs × 75 % = 1.5 ms of a 10 ms step = 15 %.",
                       "Nothing else computes meanwhile. Even an empty kernel takes 3 µs. At most a warning.",
                       gain="Gain up to 10 / 8.5 − 1 = 18 %.")
    return drawing


def serialized_streams():
    drawing = Drawing("serialized-streams: the default stream keeps a kernel of another stream waiting",
                      "Kernel A on the default stream has 40 blocks, kernel B on stream 7 has 60, the GPU has 132 SMs. B is launched at 0.2 ms but "
                      "starts at 2 ms, when A is over: 1.8 ms, 18 per cent of a step of 10 ms.")
    time = Timeline(drawing, 0, 5)
    default = time.row("Default stream", role="culprit", above=4)
    default.block(0, 2, "compute", "kernel A: 40 blocks")

    other = time.row("Stream 7", role="victim", below=22)
    other.idle(0.2, 2, "dependency", "B is launched and waits")
    other.block(2, 4, "compute", "kernel B: 60 blocks")
    other.bracket(0.2, 2, "1.8 ms")
    free = time.row("Stream 7", "if non-blocking")
    free.ghost(0.2, 2.2, "kernel B beside A", "good")
    free.words(2.2, "40 + 60 = 100 blocks fit on 132 SMs", "i-good")
    time.axis([0, 1, 2, 3, 4, 5], "ms")

    drawing.conclusion("1.8 ms of a 10 ms step = 18 %: a warning, never more.",
                       "B starts as soon as A is over. Its stream was free, and no event kept it waiting.",
                       gain="Gain up to 10 / 8.2 − 1 = 22 %.")
    return drawing


def unfused_attention():
    drawing = Drawing("unfused-attention: scores go to memory and back between three kernels",
                      "A product writes the scores of 4,096 tokens to memory, a softmax kernel reads and writes them, another product reads them. "
                      "24 softmax kernels of 75 microseconds take 1.8 of 10 ms: a fused kernel saves at most 18 per cent.")
    time = Timeline(drawing, 0, 10)
    kernels = time.row("As recorded", above=4)
    kernels.block(0, 2.4, "compute", "product Q·Kᵀ")
    kernels.block(3, 5, "workspace", "softmax: 75 µs")
    kernels.block(5.6, 8, "compute", "product P·V")

    memory = time.row("GPU memory", role="culprit", above=14)
    memory.block(1, 7.6, "copy", "scores: 4,096 × 4,096 × 2 bytes = 33.6 MB a head")
    for instant in (2, 4.6):
        drawing.arrow(time.x(instant), kernels.bottom + 1, time.x(instant), memory.top - 1)
    for instant in (3.4, 6.2):
        drawing.arrow(time.x(instant), memory.top - 1, time.x(instant), kernels.bottom + 1)
    for instant, words in ((2, "write"), (3.4, "read"), (4.6, "write"), (6.2, "read")):
        drawing.text(time.x(instant) + 5, kernels.bottom + 16, words, "i-muted", 11)

    fused = time.row("Fused", "scores stay on chip", above=2)
    fused.ghost(0, 3.6, "one kernel: flash attention", "good")
    drawing.conclusion("24 softmax kernels × 75 µs = 1.8 ms of 10 ms: at most 18 % can be saved.",
                       "They take at least 10 % of the summed op time (here 10 ms) and of the measured time: a warning.",
                       "No cost is given: how long a fused kernel would take is not known.")
    return drawing


def misaligned_matrices():
    drawing = Drawing("misaligned-matrices: rows do not begin at multiples of 16 bytes",
                      "Rows of 50,257 half-precision numbers have 100,514 bytes, 2 more than a multiple of 16. Each row begins 2 bytes further behind a "
                      "boundary. With 50,304 numbers a row has 100,608 bytes and all rows begin at a boundary.")
    drawing.caption("Where rows of 50,257 × 2 = 100,514 bytes begin (100,514 = 16 × 6,282 + 2)")
    time = Timeline(drawing, 0, 64, left=210, gap=5)
    for row in range(4):
        line = time.row(f"Row {row}: {2 * row} bytes off" if row else "Row 0: at a boundary", "align1: loads of 2 bytes")
        line.repeat(2 * row, 64, 32 - row, "comm", 0.85)
    padded = time.row("Padded to 50,304", "100,608 = 16 × 6,288 bytes", above=4)
    for begin in (0, 16, 32, 48):
        padded.block(begin, begin + 16, "compute", "16-byte load")
    for boundary in (0, 16, 32, 48, 64):
        time.mark(boundary, "16-byte boundaries" if boundary == 32 else "")

    drawing.y += 14
    drawing.conclusion("Kernels …_align1 take 2.4 ms of 10 ms: at most 24 % can be saved. A warning.",
                       "2.4 ms is at least 10 % of the summed op time (10 ms) and of the measured time.",
                       "No cost is given: how long aligned kernels would take is not known.")
    return drawing


def elementwise_dominated():
    drawing = Drawing("elementwise-dominated: kernels that do little and move whole tensors take most of the time",
                      "Element-wise kernels take 5.2 ms of 9 ms of op time in a step of 10 ms. Four of them in a row read and write 64 MB each, "
                      "512 MB in all. One fused kernel reads and writes 128 MB.")
    share = Timeline(drawing, 0, 10, gap=6)
    share.steps([0, 10], "step: 10 ms")
    ops = share.row("Op time: 9 ms")
    ops.block(0, 5.2, "workspace", "40 element-wise kernels: 5.2 ms")
    ops.block(5.2, 9, "compute", "all other work: 3.8 ms")
    ops.ghost(9, 10, "idle")

    drawing.y += 6
    chain = Timeline(drawing, 0, 12, gap=6)
    single = chain.row("A chain of four", role="culprit")
    for at, name in enumerate(("add", "cast", "GELU", "multiply")):
        single.block(3 * at, 3 * at + 0.9, "copy", "64 MB")
        single.block(3 * at + 0.9, 3 * at + 2, "workspace", name)
        single.block(3 * at + 2, 3 * at + 2.9, "copy", "64 MB")
    fused = chain.row("Fused")
    fused.block(0, 0.9, "copy", "64 MB")
    fused.block(0.9, 2.9, "workspace", "all four")
    fused.block(2.9, 3.8, "copy", "64 MB")
    fused.words(3.8, "64 MB: read or written. 128 MB instead of 512 MB")

    drawing.conclusion("5.2 of 9 ms = 58 % of op time, and 52 % of the step: a warning.",
                       "The rule needs half of the op time, 20 % of the measured time and four kernels a step.",
                       "No cost is given. at_most_ns_per_step is all of the 5.2 ms.")
    return drawing


DRAWINGS = {
    "throttling": throttling,
    "pageable-copies": pageable_copies,
    "serialized-copies": serialized_copies,
    "tensor-cores-unused": tensor_cores_unused,
    "small-grids": small_grids,
    "serialized-streams": serialized_streams,
    "unfused-attention": unfused_attention,
    "misaligned-matrices": misaligned_matrices,
    "elementwise-dominated": elementwise_dominated,
}
