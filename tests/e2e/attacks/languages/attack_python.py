"""What Python programs do with threads, processes and descriptors while they annotate: attack_python.py CASE LIBRARY [NUMBER]"""

import atexit
import concurrent.futures
import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

library = ctypes.CDLL(sys.argv[2])


def work(ranges=100):
    for _ in range(ranges):
        library.attack_push(b"op")
        library.attack_pop()


def ending_of(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def work_and_square(number):
    work()
    return number * number


def threads():
    workers = [threading.Thread(target=work, args=(500,)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print("joined", len(workers))


def fork():
    work()
    for status in range(20):
        child = os.fork()
        if child == 0:
            work()
            os._exit(status)
        assert ending_of(child) == status
    child = os.fork()
    if child == 0:
        atexit.register(lambda: print("exit handler of the child", flush=True))
        work()
        sys.exit(31)
    print("child", ending_of(child))


def fork_in_thread():
    work()
    stop = threading.Event()

    def be_busy():
        while not stop.is_set():
            work(10)

    busy = threading.Thread(target=be_busy)
    busy.start()
    endings = []

    def fork_here():
        for _ in range(10):
            child = os.fork()
            if child == 0:
                work()
                os._exit(4)
            endings.append(ending_of(child))

    forking = threading.Thread(target=fork_here)
    forking.start()
    forking.join()
    stop.set()
    busy.join()
    print(endings)


def in_processes(method):
    context = multiprocessing.get_context(method)
    work()
    process = context.Process(target=sys.exit, args=(7,))
    process.start()
    process.join()
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        print(process.exitcode, list(pool.map(work_and_square, range(8))))


def spawn():
    in_processes("spawn")


def forkserver():
    in_processes("forkserver")


def pool():
    work()
    with multiprocessing.get_context("fork").Pool(3) as workers:
        print(workers.map(work_and_square, range(20)))


def closerange():
    """As daemons and supervisors: closes what is not its own, and opens a file that must hold what it wrote. NUMBER: milliseconds."""
    work(1)
    os.closerange(3, 256)
    milliseconds = int(sys.argv[3]) if len(sys.argv) > 3 else 700
    with open("checkpoint.bin", "wb", buffering=0) as file:
        file.write(b"W" * 1000)
        for step in range(20):
            library.attack_push(b"step %d" % step)
            work(200)
            time.sleep(milliseconds / 20_000)
            library.attack_pop()
        file.write(b"W" * 1000)
        print("descriptor", file.fileno())
    with open("checkpoint.bin", "rb") as file:
        content = file.read()
    print("bytes", len(content), "foreign", len(content) - content.count(b"W"))


def os_exit():
    atexit.register(print, "never")
    work()
    sys.stdout.flush()
    os._exit(9)


def run_subprocesses():
    work()
    show = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:-1])"
    file = os.open("inherited", os.O_RDWR | os.O_CREAT)
    for options in ({"close_fds": True}, {"close_fds": False}, {"pass_fds": (file,)}):
        done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, **options)
        print(done.returncode, done.stdout.strip(), done.stderr.strip())
    print(subprocess.run(["sh", "-c", "kill -9 $$"]).returncode)
    try:
        subprocess.run(["/nowhere/program"])
    except FileNotFoundError as error:
        print(error.errno)


def execute():
    work()
    os.execv(sys.executable, [sys.executable, "-c", "import os; print('executed', os.open('/dev/null', 0)); os._exit(6)"])


def interrupt():
    work()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)


def daemon_thread():
    def for_ever():
        while True:
            work(10)

    threading.Thread(target=for_ever, daemon=True).start()
    time.sleep(0.2)
    print("main ends")
    sys.exit(3)


def alarm():
    rung = []
    signal.signal(signal.SIGALRM, lambda *_: (work(1), rung.append(1)))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    while len(rung) < 100:
        work(10)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("rung")


CASES = {"threads": threads, "fork": fork, "fork_in_thread": fork_in_thread, "spawn": spawn, "forkserver": forkserver, "pool": pool,
         "closerange": closerange, "os_exit": os_exit, "subprocess": run_subprocesses, "exec": execute, "interrupt": interrupt,
         "daemon_thread": daemon_thread, "alarm": alarm}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
