"""Drawings of the definitions of runs, of their JSON and of devices that names tell (docs/reference/DEFINITIONS.md)."""
from svg import Drawing
from timeline import Timeline


def runs():
    drawing = Drawing("Runs: files of one time are ranks of one run, files of another time are another capture",
                      "A folder of another tool with four files. rank-0 and rank-1 were recorded together, at 0 minutes. Two more of the same ranks follow "
                      "15 minutes later. The newest capture, with two ranks, is opened.")
    time = Timeline(drawing, 0, 20, left=176, gap=6)
    for rank in range(2):
        row = time.row(f"10/rank-{rank}.json.gz", "rank " + str(rank) + ", by its name", above=6)
        row.block(0, 2, "other")
        row.words(2, "older capture: named, not opened")
    for rank in range(2):
        row = time.row(f"11/rank-{rank}.json.gz", "rank " + str(rank) + ", by its name", above=6, below=22 * rank)
        row.block(17, 19, "compute")
    row.bracket(2, 17, "15 minutes without a file: more than one minute")
    time.axis([0, 5, 10, 15, 20], "minutes")

    drawing.conclusion("The newest capture is the run: 2 files, so 2 ranks.",
                       "Without the pause the four files are no one run either: rank 0 is in both captures.",
                       "--one-run reads what you name as one run.")
    return drawing


def json_of_a_step():
    drawing = Drawing("The JSON of a step: its parts sum to its length",
                      "Step 7 of rank 3 is 12 ms long: 8 ms compute, 2 ms exposed communication, 1 ms exposed copies, 0.6 ms idle for input and 0.4 ms "
                      "launch-bound.")
    time = Timeline(drawing, 0, 12, left=96)
    row = time.row("steps[n]", "rank 3, step 7", below=22)
    row.block(0, 8, "compute", "compute_ns 8000000")
    row.block(8, 10, "comm", "comm")
    row.block(10, 11, "copy", "copy")
    row.idle(11, 11.6, "input")
    row.idle(11.6, 12, "launch_starved")
    row.bracket(0, 12, "dur_ns 12000000")
    time.axis([0, 2, 4, 6, 8, 10, 12], "ms")

    drawing.conclusion('"compute_ns": 8000000, "exposed_comm_ns": 2000000, "exposed_copy_ns": 1000000,',
                       '"idle_ns": {"input": 600000, "launch_starved": 400000}: together "dur_ns": 12000000.',
                       "A number that is not known is null, never 0.")
    return drawing


def device_names():
    drawing = Drawing("Devices that are known by their names: a process GPU 0 and its threads",
                      "Three threads of a process named GPU 0, and one of GPU 0 worker. stream 7 has 3 and 4 ms of device work, XLA Modules is derived from it, "
                      "Steps has one step of 10 ms, and the worker is a thread of the host.")
    time = Timeline(drawing, 0, 12, left=176)
    device = time.row("GPU 0 / stream 7", "device 0: a stream", above=4)
    device.block(1, 4, "compute", "3 ms")
    device.block(6, 10, "compute", "4 ms")
    modules = time.row("GPU 0 / XLA Modules", "derived: no device time")
    modules.ghost(1, 10, "jit_train_step: 9 ms, not counted")
    steps = time.row("GPU 0 / Steps", "steps in device time")
    steps.block(0, 10, "host", "step 12: 10 ms")
    host = time.row("GPU 0 worker", "host: a thread")
    host.block(0, 1, "launch")
    host.block(5, 6, "launch")
    time.axis([0, 2, 4, 6, 8, 10, 12], "ms")

    drawing.conclusion("Device 0: busy_ns = 3 + 4 = 7 ms of the 10 ms of step 12.",
                       "With XLA Modules as work it would be 9 ms: they enclose the kernels of stream 7.")
    return drawing


DRAWINGS = {
    "definition-runs": runs,
    "definition-json": json_of_a_step,
    "definition-device-names": device_names,
}
