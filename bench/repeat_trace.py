#!/usr/bin/env python3
"""A large JSON trace made of a small one: repeat_trace.py IN.json[.gz] TIMES OUT.json writes its events TIMES times.

The same events at the same times: for measuring how fast a trace is read, not for analyzing it.
"""
import gzip
import sys


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    source, times, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    opened = gzip.open(source, "rb") if source.endswith(".gz") else open(source, "rb")
    with opened as file:
        text = file.read()
    mark = b'"traceEvents"'
    begin = text.index(b"[", text.index(mark)) + 1
    end = text.rindex(b"]")
    events = text[begin:end].rstrip()
    with open(target, "wb") as file:
        file.write(text[:begin])
        for i in range(times):
            file.write(events if i == 0 else b"," + events)
        file.write(text[end:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
