"""Reads the files of write_format_samples with the reader that knows docs/reference/TRACE_FORMAT.md alone, and compares everything with what the
library said is in them.  usage: reader_test.py FOLDER [unittest options]"""
import bisect
import collections
import functools
import json
import os
import random
import sys
import tempfile
import unittest

from stepscope_reader import (BLOCK_HEADER, COLUMNS, DESCRIPTION, DETAIL_TABLES, END, EVENTS, FILE_HEADER, INDEX, SUMMARY, TABLE_OF_KIND,
                              FormatError, TraceFile, read_columns)

FOLDER = ""
SUMMARIZED = ("random", "training", "long", "appended")
BARE = ("recorded", "killed")  # no summaries; the second no index
ALL = (*SUMMARIZED, *BARE, "empty")
STEP, SAMPLE = 2, 15
CLASS_OF_KIND = collections.defaultdict(lambda: "host", {10: "compute", 11: "copy", 12: "compute", 13: "communication"})


def path_of(sample):
    return os.path.join(FOLDER, sample + ".stepscope")


def bytes_of(sample):
    with open(path_of(sample), "rb") as file:
        return file.read()


@functools.cache
def truth_of(sample):
    """What the library's model holds: description, texts (as hexadecimal digits), tracks, and the events of each track."""
    with open(path_of(sample) + ".json", encoding="ascii") as file:
        return json.load(file)


def open_bytes(data, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "changed.stepscope")
        with open(path, "wb") as file:
            file.write(data)
        return TraceFile(path, **options)


def rows_of(trace, track):
    """The track's events as the truth tells them."""
    events = trace.events(track)

    def detail(kind, row):
        return None if row is None else {column: values[row] for column, values in events[TABLE_OF_KIND[kind]].items()}

    rows = zip(*(events[column] for column in ("start", "dur", "name", "kind", "correlation", "detail")))
    return [{"start": start, "dur": dur, "name": trace.strings[name].hex(), "kind": kind, "correlation": correlation,
             "detail": detail(kind, row)} for start, dur, name, kind, correlation, row in rows]


def merged(intervals):
    """The union of intervals, as disjoint ones."""
    union = []
    for begin, end in sorted(intervals):
        if union and begin <= union[-1][1]:
            union[-1][1] = max(union[-1][1], end)
        else:
            union.append([begin, end])
    return union


def depths(rows):
    """How many events of its track are open when each event runs, itself included."""
    open_ends, result = [], []
    for row in rows:
        while open_ends and open_ends[-1] <= row["start"]:
            open_ends.pop()
        open_ends.append(row["start"] + row["dur"])
        result.append(len(open_ends))
    return result


def expected_bins(rows, borders):
    """A summary's columns between the borders, one bin after the other, straight from the definitions."""
    unions = {name: merged((row["start"], row["start"] + row["dur"]) for row in rows if CLASS_OF_KIND[row["kind"]] == name)
              for name in ("host", "compute", "communication", "copy")}
    depth_of_row, starts = depths(rows), [row["start"] for row in rows]
    bins = {name: [] for name in (*COLUMNS["summary"], "end")}
    for begin, end in zip(borders, borders[1:]):
        first, last = bisect.bisect_left(starts, begin), bisect.bisect_left(starts, end)
        inside = rows[first:last]
        samples = [row["detail"]["value"] for row in inside if row["kind"] == SAMPLE] or [0.0]
        longest = max(inside, key=lambda row: row["dur"], default={"dur": 0, "name": ""})
        values = {"begin": begin, "end": end, "starts": len(inside), "most_open": max(depth_of_row[first:last], default=0),
                  "longest": longest["dur"], "longest_name": longest["name"], "lowest": min(samples), "highest": max(samples)}
        for name, union in unions.items():
            values[name] = sum(max(0, min(end, until) - max(begin, since)) for since, until in union)
        for name, value in values.items():
            bins[name].append(value)
    return bins


def is_part(rows, others):
    """Whether rows are others without some of them."""
    remaining = iter(others)
    return all(any(row == other for other in remaining) for row in rows)


class ReaderTest(unittest.TestCase):
    def each(self, samples, check, walks=(False, True)):
        """Calls check(trace, truth) for every sample, read by its index and by walking."""
        for sample in samples:
            for walk in walks:
                with self.subTest(sample=sample, walk=walk):
                    check(TraceFile(path_of(sample), walk=walk), truth_of(sample))

    def assert_same_rows(self, found, expected, place):
        for number, (row, expected_row) in enumerate(zip(found, expected)):
            self.assertEqual(row, expected_row, f"{place}, row {number}")
        self.assertEqual(len(found), len(expected), place)

    def test_every_column_and_detail_of_every_row_is_what_was_written(self):
        def check(trace, truth):
            self.assertEqual(sorted(trace.tracks), list(range(len(truth["events"]))))
            for track, expected in enumerate(truth["events"]):
                self.assert_same_rows(rows_of(trace, track), expected, f"track {track}")

        self.each(ALL, check)

    def test_description_tracks_and_texts_are_what_was_written(self):
        def check(trace, truth):
            self.assertEqual({member: trace.description[member] for member in truth["description"]}, truth["description"])
            self.assertEqual(list(trace.tracks.values()), truth["tracks"])
            self.assertEqual([trace.strings[id].hex() for id in sorted(trace.strings)], truth["texts"])
            self.assertEqual(trace.damage, [])

        self.each(ALL, check)

    def test_columns_of_the_page_are_those_of_the_files(self):
        described = TraceFile(path_of("random")).description["columns"]
        self.assertEqual(described, {name: COLUMNS[name] for name in ("events", *DETAIL_TABLES)})

    def test_samples_hold_every_kind_and_every_way_to_store_a_column(self):
        kinds, codings, planes = set(), set(), set()
        for sample in ALL:
            for block in TraceFile(path_of(sample)).blocks:
                if block.type == EVENTS:
                    columns = read_columns(block.payload).values()
                    kinds |= {kind for kind in range(64) if block.kinds >> kind & 1}
                    codings |= {column.coding for column in columns}
                    planes |= {kind for column in columns for kind, _ in column.planes}
        self.assertEqual(kinds, set(range(19)))
        self.assertEqual(codings, set(range(7)))
        self.assertEqual(planes, {0, 1, 2})

    def test_headers_and_index_say_what_is_in_the_blocks(self):
        for sample in ALL:
            walked = [block for block in TraceFile(path_of(sample), walk=True).blocks if block.type != INDEX]
            index = TraceFile(path_of(sample)).index
            if index is not None:
                headers = [[getattr(block, name) if name != "size" else block.end - block.offset for block in walked] for name in index]
                self.assertEqual(headers, list(index.values()), sample)
            for block in walked:
                if block.type == EVENTS:
                    self.check_event_header(sample, block)

    def check_event_header(self, sample, block):
        trace = TraceFile(path_of(sample))
        trace.blocks = [block]
        events = trace.events(block.track)
        ends = [start + dur for start, dur in zip(events["start"], events["dur"])]
        self.assertEqual((len(ends), min(events["start"]), max(ends), sum(1 << kind for kind in set(events["kind"]))),
                         (block.rows, block.first_start, block.last_end, block.kinds), f"{sample}, block at {block.offset}")

    def test_summaries_are_what_the_events_say(self):
        def check(trace, truth):
            for track, rows in enumerate(truth["events"]):
                bins = trace.summary(track)
                if not rows:
                    self.assertIsNone(bins)
                    continue
                bins["longest_name"] = [trace.strings[name].hex() for name in bins["longest_name"]]
                block, = (block for block in trace.blocks if block.type == SUMMARY and block.track == track)
                self.assertEqual((block.first_start, bins["begin"][0]), (rows[0]["start"], rows[0]["start"]))
                self.assertEqual(sum(bins["starts"]), len(rows))
                for column, values in expected_bins(rows, [*bins["begin"], bins["end"][-1]]).items():
                    self.assertEqual(bins[column], values, f"track {track}, {column}")

        self.each(SUMMARIZED, check, walks=(False,))

    def test_steps_are_those_of_the_events(self):
        def check(trace, truth):
            expected = [(track, row["start"], row["dur"], row["detail"]["index"]) for track, rows in enumerate(truth["events"])
                        for row in rows if row["kind"] == STEP]
            self.assertEqual(list(zip(*trace.steps().values())), expected)

        self.each(SUMMARIZED, check)

    def test_files_without_summaries_or_index_say_so(self):
        for sample in BARE:
            self.assertIsNone(TraceFile(path_of(sample)).summary(0))
            self.assertIsNone(TraceFile(path_of(sample)).steps())
        self.assertIsNone(TraceFile(path_of("killed")).index)

    def test_a_file_cut_anywhere_keeps_every_event_of_its_whole_blocks(self):
        for sample in ("random", "recorded", "appended", "long"):
            data, whole = bytes_of(sample), TraceFile(path_of(sample), walk=True)
            borders = [border for block in whole.blocks if block.type == EVENTS for border in (block.end - 1, block.end)]
            for size in sorted({*borders[:6], len(data) // 2, FILE_HEADER.size}):
                with self.subTest(sample=sample, size=size):
                    kept = [block for block in whole.blocks if block.end <= size]
                    self.check_cut(open_bytes(data[:size]), kept, truth_of(sample)["events"])

    def check_cut(self, cut, kept, truth):
        self.assertEqual(cut.blocks, kept)
        for track, expected in enumerate(truth):
            rows = rows_of(cut, track)
            self.assertEqual(len(rows), sum(block.rows for block in kept if (block.type, block.track) == (EVENTS, track)))
            self.assertTrue(is_part(rows, expected), f"track {track}")

    def test_one_wrong_byte_is_reported_as_its_block_and_costs_no_other(self):
        chance = random.Random(3)
        for sample in ("random", "recorded"):
            data, whole = bytes_of(sample), TraceFile(path_of(sample), walk=True)
            for number, block in enumerate(whole.blocks):
                others = whole.blocks[:number] + whole.blocks[number + 1:]
                header_place = chance.randrange(BLOCK_HEADER.size)
                for place in (0, header_place, BLOCK_HEADER.size, chance.randrange(BLOCK_HEADER.size, block.end - block.offset)):
                    damaged = bytearray(data)
                    damaged[block.offset + place] ^= 1 << chance.randrange(8)
                    # A header that is not believed does not tell that an end follows.
                    is_end_lost = block.type == INDEX and place < BLOCK_HEADER.size - 8
                    size = block.end - block.offset + (END.size if is_end_lost else 0)
                    with self.subTest(sample=sample, block=number, place=place):
                        for walk in (False, True):
                            self.check_damage(open_bytes(damaged, walk=walk), (block.offset, size), others)

    def check_damage(self, trace, place, others):
        self.assertEqual(trace.damage, [place])
        self.assertEqual([block for block in trace.blocks if block.type != INDEX], [block for block in others if block.type != INDEX])

    def test_other_files_are_refused(self):
        data = bytes_of("empty")
        for other in (b"", b"{}", data[:8], data[1:], data[:8] + b"\x02" + data[9:]):
            with self.assertRaises(FormatError):
                open_bytes(other)


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
