"""Columns reach Python, numpy, pandas and Arrow with the values that the command prints."""

import ctypes
import json
import math
import unittest

import stepscope
from support import TestWithFolder, command, main

try:
    import numpy
    import pandas
except ImportError:
    numpy = pandas = None


class Tables(TestWithFolder):
    def setUp(self):
        super().setUp()
        self.path = self.synth()
        self.run_ = stepscope.open(self.path)
        self.addCleanup(self.run_.close)

    def test_have_what_the_command_prints(self):
        for name in stepscope.tables():
            table = self.run_.table(name)
            printed = json.loads(
                command("query", self.path, f'select * from "{name}"', "--format", "json")
            )
            self.assertEqual(len(table), len(printed), name)
            for row, want in zip(table.to_dicts(), printed):
                for column, value in want.items():
                    if isinstance(value, float):
                        self.assertTrue(math.isclose(row[column], value, rel_tol=1e-12), column)
                    else:
                        self.assertEqual(row[column], value, f"{name}.{column}")

    def test_are_columns_and_rows(self):
        table = self.run_.query("select 1 as a, null as b, 'x' as c, 2.5 as d union all select 2, 3, null, 4")
        self.assertEqual(table.names, ["a", "b", "c", "d"])
        self.assertEqual(list(table), [(1, None, "x", 2.5), (2, 3, None, 4.0)])
        self.assertEqual(table.to_dict()["b"], [None, 3])
        self.assertEqual(table.c[0], "x")
        self.assertEqual(table["a"][-1], 2)
        self.assertEqual(table.a[0:2], [1, 2])
        self.assertEqual([column.type for column in table.columns], ["integer", "integer", "text", "real"])
        with self.assertRaises(IndexError):
            table.a[2]
        for wrong in ("z", 0, slice(0, 3)):
            with self.assertRaisesRegex(KeyError, "there is no column .*, but a, b, c, d"):
                table[wrong]
        self.assertIn("<stepscope.Table: 2 rows>", repr(table))
        self.assertEqual(repr(table).splitlines()[2].split(), ["1", "x", "2.5"])
        with self.assertRaisesRegex(AttributeError, "there is no column 'z', but a, b, c, d"):
            table.z  # noqa: B018
        self.assertEqual(self.run_.query("select 1 as a, 2 as a").names, ["a", "a_2"])

    def test_are_buffers(self):
        column = self.run_.table("kernels", "dur_ns").dur_ns
        view = memoryview(column.values())
        self.assertEqual((view.format, view.itemsize, view.readonly), ("q", 8, True))
        self.assertEqual(view.tolist(), column.to_list())
        numbers = self.run_.query("select 9007199254740993 as v union all select 0.5 union all select -9223372036854775807")
        self.assertEqual(numbers.v.to_list(), [9007199254740993, 0.5, -9223372036854775807])
        self.assertEqual(numbers.v[0], 9007199254740993)
        self.assertEqual(self.run_.query("select cast(x'ff' as text) as t").t[0], "\ufffd")
        empty = self.run_.query("select 1 as a where 0")
        self.assertEqual(empty.to_dicts(), [])

    @unittest.skipUnless(pandas, "pandas and numpy are not installed")
    def test_become_frames(self):
        table = self.run_.table("kernels")
        frame = table.to_pandas()
        self.assertEqual(list(frame.columns), table.names)
        self.assertEqual(frame["dur_ns"].tolist(), table.dur_ns.to_list())
        self.assertEqual(frame["name"].tolist(), table.name.to_list())
        self.assertEqual(str(frame["name"].dtype), "category")
        for name in table.names:
            values = [None if value is pandas.NA or value != value else value for value in frame[name].astype(object)]
            self.assertEqual(values, table[name].to_list(), name)

        direct = numpy.asarray(table.dur_ns)
        self.assertEqual(direct.tolist(), table.dur_ns.to_list())
        self.assertTrue(numpy.shares_memory(direct, numpy.asarray(table.dur_ns)))
        self.assertTrue(numpy.shares_memory(direct, table.to_pandas(copy=False)["dur_ns"].to_numpy()))
        frame["dur_ns"] *= 2
        frame.loc[0, "graph"] = 7
        self.assertEqual(frame["dur_ns"].tolist(), [2 * ns for ns in table.dur_ns])
        gaps = self.run_.query("select 1 as a union all select null").a
        for take in (gaps.to_numpy, lambda: numpy.asarray(gaps), lambda: numpy.sum(gaps)):
            with self.assertRaisesRegex(ValueError, "without a value"):
                take()
        self.assertEqual(numpy.asarray(table.name).tolist(), table.name.to_list())

    @unittest.skipUnless(pandas, "pandas and numpy are not installed")
    def test_give_a_frame_their_memory_where_nothing_else_has_it(self):
        table = self.run_.table("kernels", ["dur_ns", "graph", "name"])
        want = table.to_dicts()
        self.assertEqual(self.run_.table("kernels", ["dur_ns", "graph", "name"]).to_pandas()["dur_ns"].tolist(), [row["dur_ns"] for row in want])

        fresh = self.run_.table("kernels", ["dur_ns", "graph", "name"])
        frame = fresh.to_pandas()
        frame["dur_ns"] *= 2
        frame.loc[0, "graph"] = 7
        frame.loc[1, "name"] = frame["name"][0]
        self.assertEqual(fresh.to_dicts(), want)
        self.assertEqual(len(fresh), len(want))
        again = fresh.to_pandas()
        self.assertFalse(numpy.shares_memory(again["dur_ns"].to_numpy(), frame["dur_ns"].to_numpy()))

        # A column, a buffer or Arrow has the memory, too: the frame gets a copy.
        for hold in (lambda t: t.dur_ns, lambda t: memoryview(t.dur_ns.values()), lambda t: t.__arrow_c_stream__()):
            held = self.run_.table("kernels", ["dur_ns"])
            kept = hold(held)
            values = held.to_pandas()
            values["dur_ns"] = 0
            self.assertEqual(held.dur_ns.to_list(), [row["dur_ns"] for row in want])
            del kept

    def test_say_where_their_run_is_closed(self):
        with stepscope.open(self.path) as run:
            table = run.table("kernels", ["dur_ns"])
            if pandas:
                table.to_pandas()
        if pandas:
            with self.assertRaises(stepscope.ClosedError):
                len(table)

    def test_survive_their_run(self):
        with stepscope.open(self.path) as run:
            column = run.table("kernels", ["name"]).name
            want = column.to_list()
        self.assertEqual(column.to_list(), want)


# The structs of the Arrow C data interface, as its specification has them: a reader of its own.
class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))),
    ("private_data", ctypes.c_void_p),
]
Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))),
    ("private_data", ctypes.c_void_p),
]


def typed(array, index, kind, count):
    return ctypes.cast(array.buffers[index], ctypes.POINTER(kind))[:count] if count else []


def values_of(schema, array):
    kind = {b"l": ctypes.c_int64, b"g": ctypes.c_double, b"i": ctypes.c_int32}[schema.format]
    values = typed(array, 1, kind, array.length)
    if schema.format == b"i":
        texts = array.dictionary.contents
        assert schema.dictionary.contents.format == b"U"
        offsets = typed(texts, 1, ctypes.c_int64, texts.length + 1)
        data = ctypes.string_at(texts.buffers[2], offsets[-1]) if texts.length else b""
        words = [data[a:b].decode() for a, b in zip(offsets, offsets[1:])]
        values = [words[code] if code >= 0 else None for code in values]
    if array.buffers[0]:
        bits = typed(array, 0, ctypes.c_uint8, (array.length + 7) // 8)
        values = [v if bits[i // 8] >> (i % 8) & 1 else None for i, v in enumerate(values)]
    assert array.null_count == sum(value is None for value in values)
    return values


def pointer_in(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(capsule, b"arrow_array_stream"), ctypes.POINTER(Stream))


class Arrow(TestWithFolder):
    def read(self, table):
        capsule = table.__arrow_c_stream__()
        stream = pointer_in(capsule)
        schema, array, end = Schema(), Array(), Array()
        self.assertEqual(stream.contents.get_schema(stream, schema), 0)
        self.assertEqual(stream.contents.get_next(stream, array), 0)
        self.assertEqual(stream.contents.get_next(stream, end), 0)
        self.assertFalse(end.release, "one batch")
        self.assertEqual(schema.format, b"+s")
        del capsule, table, stream  # arrays outlive their stream

        read = {}
        for i in range(array.n_children):
            child = array.children[i].contents
            self.assertEqual(child.length, array.length)
            read[schema.children[i].contents.name.decode()] = values_of(
                schema.children[i].contents, child
            )
        return schema, array, read

    def test_readers_see_the_same_values(self):
        with stepscope.open(self.synth()) as run:
            table = run.table("kernels")
            want = table.to_dict()
            schema, array, read = self.read(table)
        self.assertEqual(read, want)
        array.release(array)
        schema.release(schema)
        self.assertFalse(array.release)

    def test_a_part_that_was_moved_out_lives_on(self):
        with stepscope.open(self.synth()) as run:
            table = run.query("select name, dur_ns from kernels")
            want = table.name.to_list()
            schema, array, _ = self.read(table)
        moved, of = Array(), Schema()
        ctypes.memmove(ctypes.byref(moved), array.children[0], ctypes.sizeof(Array))
        ctypes.memmove(ctypes.byref(of), schema.children[0], ctypes.sizeof(Schema))
        for part in (array.children[0].contents, schema.children[0].contents):
            ctypes.memset(ctypes.byref(part, type(part).release.offset), 0, ctypes.sizeof(ctypes.c_void_p))
        array.release(array)
        schema.release(schema)
        del table
        self.assertEqual(values_of(of, moved), want)
        moved.release(moved)
        of.release(of)


if __name__ == "__main__":
    main()
