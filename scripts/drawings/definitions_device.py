"""Drawings of the definitions of copies, lost time, memory, clocks of a device and live runs (docs/reference/DEFINITIONS.md)."""
from charts import Chart
from svg import Drawing
from timeline import Timeline


def streams():
    drawing = Drawing("Streams: a usual step becomes slower than in the shortest block",
                      "Lengths of steps by record. The first 8 records are not judged. Two blocks of 16 records have a usual length of 100 ms, the third "
                      "has 106 ms. The limit is 103 ms.")
    drawing.caption("Length of a step of GPU 0, ms, by record")
    chart = Chart(drawing, (0, 56), (95, 110), left=52, height=104)
    pattern = (-1, 0, 1, 2, -1, 0, 1, -2, 1, 0, -1, 2, 1, 0, -1, -2)
    chart.points([(at + 0.5, length) for at, length in enumerate((109, 107, 105, 104, 103, 102, 102, 101))], "muted")
    for block, usual in enumerate((100, 100, 106)):
        begin = 8 + 16 * block
        chart.points([(begin + at + 0.5, usual + distance) for at, distance in enumerate(pattern)], "bad" if usual > 103 else "accent")
        chart.line([(begin, usual), (begin + 16, usual)], "bad" if usual > 103 else "accent", 1.5)
        chart.line([(begin, 95), (begin, 109)], "muted", 1, "3 3")

    chart.level(103, "limit: 103 ms", begin=8, anchor="start")
    chart.words(32, 96, "usual: 100 ms", "i-accent", "middle", bold=True)
    chart.words(16, 96, "usual: 100 ms", "i-accent", "middle", bold=True)
    chart.words(48, 101, "usual: 106 ms", "i-bad", "middle", bold=True)
    chart.words(4, 96, "not judged", "i-muted", "middle")
    chart.y_ticks({95: "95", 100: "100", 106: "106"})
    chart.x_ticks({0: "0", 8: "8", 24: "24", 40: "40", 55.9: "56"})
    chart.done()

    drawing.conclusion("slower: 106 ms is above 1.03 × 100 = 103 ms, and above 100 + 3 × 1 ms (3 spreads).",
                       "Usual: the median of a block of 16 records. Spread: the median distance from it, 1 ms here.",
                       "It must hold for most devices; then recording some steps is worth it.")
    return drawing


def copies():
    drawing = Drawing("Copies: bandwidth by direction, and the time in which both directions copy",
                      "Host to device: 48 MB pinned in 2 ms, then 24 MB pageable in 4 ms. Device to host: 40 MB from 1 to 3 ms. Both directions copy from "
                      "1 to 2 ms.")
    time = Timeline(drawing, 0, 10)
    up = time.row("Host to device", above=4)
    up.block(0, 2, "copy", "pinned: 48 MB")
    up.block(4, 8, "copy", "pageable, blocking: 24 MB")
    up.words(8, "12 GB/s", "i-ink", bold=True)

    down = time.row("Device to host", below=22)
    down.block(1, 3, "copy", "40 MB")
    down.words(3, "20 GB/s", "i-ink", bold=True)
    down.bracket(1, 2, "both_ways_ns: 1 ms", "accent", anchor="start")
    inside = time.row("Within the device")
    inside.block(9, 9.04, "copy")
    inside.words(9.05, "small", bold=True)
    time.axis([0, 2, 4, 6, 8, 10], "ms")

    drawing.conclusion("Host to device: (48 + 24) MB / (2 + 4) ms = 12 GB/s, with 1 GB = 1e9 bytes.",
                       "Pinned alone: 48 MB / 2 ms = 24 GB/s; pageable: 24 MB / 4 ms = 6 GB/s. Device to host: 40 MB / 2 ms.",
                       "Small: below 64 KiB. A copy of 4 KiB in 4 µs has 1 GB/s: a copy takes a few µs at least.")
    return drawing


def slow_time():
    drawing = Drawing("Slow time: time in ops that could take less, each kind for itself",
                      "A matrix kernel without tensor cores runs 20 microseconds alone. A kernel with 33 blocks on 132 multiprocessors loses 15, a kernel "
                      "of the default stream waits 10, a pageable copy is exposed for 8, a copy within the device for 5.")
    time = Timeline(drawing, 0, 100, gap=7)
    seven = time.row("Stream 7", above=2, below=22)
    seven.block(0, 30, "compute", "sgemm: 30 µs")
    seven.block(30, 53, "compute", "33 blocks: 23 µs")
    seven.block(53, 65, "compute", "12 µs")
    seven.bracket(0, 20, "simt_matrix 20")
    seven.bracket(38, 53, "small_grid_lost 15")

    nine = time.row("Stream 9")
    nine.block(20, 30, "compute", "gemm")
    nine.block(77, 87, "comm", "comm")
    default = time.row("Default stream")
    default.idle(55, 65, "dependency", "10 µs")
    default.block(65, 77, "compute", "12 µs")
    default.words(77, "serialized 10", "i-bad", bold=True)
    default.words(15, "launched at 55 µs, kept until 65:")

    copy = time.row("Copy stream", below=22)
    copy.block(77, 95, "copy", "pageable: 18")
    copy.block(95, 100, "copy", "5")
    copy.bracket(87, 95, "slow_copy 8", anchor="end")
    copy.bracket(95, 100, "", anchor="end")
    copy.words(26, "device_copy 5: last, within the device", "i-bad", bold=True)

    drawing.conclusion("small_grid_lost = (23 − 3) µs × (1 − 33 / 132) = 20 × 75 % = 15 µs.",
                       "simt_matrix: 30 µs less 10 with other compute. slow_copy: 18 µs less 10 with communication.",
                       "serialized: at most the kernel's own 12 µs. These times overlap others: they are no parts of a split.")
    return drawing


def memory():
    drawing = Drawing("Memory: allocated, reserved, headroom and fragmentation",
                      "A device of 40 GiB. Two segments of 20 and 12 GiB are reserved. 20 GiB are allocated. Free blocks of 4, 2 and 6 GiB are left in "
                      "the segments, so the fragmentation is 50 per cent. The headroom is 8 GiB.")
    time = Timeline(drawing, 0, 40)
    segments = time.row("Reserved", "segments", above=4)
    segments.block(0, 20, "other", "segment 1: 20 GiB")
    segments.block(20, 32, "other", "segment 2: 12 GiB")
    segments.ghost(32, 40, "headroom 8")

    blocks = time.row("Allocated", "live blocks", below=22)
    for begin, end, kind, words in ((0, 8, "weights", "weights 8"), (12, 18, "optimizer", "optimizer 6"), (20, 26, "activations", "activ. 6")):
        blocks.block(begin, end, kind, words)
    for begin, end in ((8, 12), (18, 20), (26, 32)):
        blocks.ghost(begin, end, f"free {end - begin}" if end - begin > 2 else f"{end - begin}")
    blocks.bracket(26, 32, "largest: 6 of 12 GiB", "bad")
    time.axis([0, 10, 20, 30, 40], "GiB")

    drawing.conclusion("fragmentation = 1 − 6 / (4 + 2 + 6) = 50 %. headroom = 40 − 32 = 8 GiB.",
                       "allocated 8 + 6 + 6 = 20 GiB. Pressure: 32 / 40 = 80 %, not above 90 %.",
                       "batch_factor = (0.9 × 40 − 14) / (20 − 14) = 3.67, with weights and optimizer = 14 GiB fixed.")
    return drawing


def device_health():
    drawing = Drawing("Device health: busy clock, sustained clock and throttled time",
                      "The clock is 1,980 MHz while busy for 4 ms, 1,485 MHz for 5 ms, and 600 MHz while the device is idle for 1 ms. The sustained clock "
                      "is 1,980 MHz, the busy clock 1,485 MHz, and 5 ms are throttled.")
    drawing.caption("SM clock of GPU 0, MHz")
    chart = Chart(drawing, (0, 10), (400, 2150), left=128, height=84)
    chart.line([(0, 1980), (3, 1980), (3, 1485), (8, 1485), (8, 600), (9, 600), (9, 1980), (10, 1980)])
    chart.level(1782, "0.9 × 1,980 = 1,782 MHz", end=8, anchor="end")
    chart.words(0.1, 1500, "sustained: 1,980", "i-accent")
    chart.words(5.5, 1130, "busy clock: 1,485 MHz", "i-bad", "middle", bold=True)
    chart.y_ticks({600: "600", 1485: "1,485", 1980: "1,980"})

    drawing.y = chart.bottom + 10
    time = Timeline(drawing, 0, 10)
    gpu = time.row("GPU 0", below=22)
    gpu.block(0, 3, "compute", "busy 3 ms")
    gpu.block(3, 8, "compute", "busy 5 ms")
    gpu.ghost(8, 9, "idle")
    gpu.block(9, 10, "compute", "1 ms")
    gpu.bracket(3, 8, "throttled_ns: 5 ms")

    drawing.conclusion("throttled: 5 ms below 1,782 MHz. Lost: 5 ms × (1 − 1,485 / 1,980) = 1.25 ms.",
                       "Quantiles by busy time: 5 of 9 ms make the median 1,485 MHz, the 95th percentile is 1,980 MHz.",
                       "kernel_slowdown 1.333 bounds the loss: 5 ms × (1 − 1 / 1.333) = 1.25 ms. Idle time does not count.")
    return drawing


DRAWINGS = {
    "definition-streams": streams,
    "definition-copies": copies,
    "definition-slow-time": slow_time,
    "definition-memory": memory,
    "definition-device-health": device_health,
}
