"""Reads .stepscope files by what docs/reference/TRACE_FORMAT.md says and nothing else: a second implementation that shows whether the page is
enough. It reads a file whole and is written for being read, not for speed. Needs libzstd and libxxhash.

    trace = TraceFile("rank0.stepscope")
    print(trace.tracks[0]["name"], trace.events(0)["start"], trace.events(0)["kernels"]["flops"])
"""
import ctypes
import itertools
import json
import struct
from collections import namedtuple

FILE_HEADER = struct.Struct("<8sII16s")
FILE_MAGIC = b"\x89SSC\r\n\x1a\n"
NEWEST_VERSION = 1
BLOCK_HEADER = struct.Struct("<4sHHIIIIqqQQQ")
BLOCK_MAGIC = b"SBLK"
END = struct.Struct("<Q8s8s")
END_MAGIC = struct.pack("<Q", 0x0A444E4550435353)
MAX_PAYLOAD_BYTES = 64 << 20
MAX_ROWS = 65_536

STRINGS, DESCRIPTION, EVENTS, INDEX, TRACKS, SUMMARY, STEPS = range(1, 8)

DETAIL_TABLES = ("steps", "kernels", "copies", "collectives", "stream_waits", "syncs", "memory", "samples",
                 "ranges")  # scopes 1, 2, …
TABLE_OF_KIND = {2: "steps", 7: "syncs", 8: "memory", 10: "kernels", 11: "copies", 12: "copies", 13: "collectives",
                 14: "stream_waits", 15: "samples", 16: "collectives", 17: "ranges", 18: "ranges"}
# Names by column number. A file's description says the same of the event blocks and may add columns.
COLUMNS = {name: columns.split() for name, columns in {
    "events": "start dur name kind correlation",
    "steps": "index",
    "kernels": "bytes flops grid_x grid_y grid_z block_x block_y block_z registers_per_thread shared_memory_bytes "
               "occupancy_percent graph graph_node",
    "copies": "bytes direction peer_device pinned graph graph_node",
    "collectives": "bytes communicator sequence op participants rank peer data_type algorithm protocol channels plan "
                   "gpu_wait_ns peer_wait_ns network_wait_ns launch state graph graph_node",
    "stream_waits": "source_device source_stream source_correlation",
    "syncs": "sync device stream source_correlation",
    "memory": "address bytes allocated_bytes reserved_bytes device op purpose memory pool",
    "samples": "value",
    "ranges": "category color payload_type payload bytes communicator",
    "summary": "begin host compute communication copy starts most_open longest longest_name lowest highest",
    "step_list": "track start duration index",
    "index": "offset size type track rows first_start last_end kinds"}.items()}
SIGNED = set("start dur index rank peer device stream peer_device source_device source_stream begin longest duration first_start "
             "last_end".split())
FLOATING = {"flops", "value", "lowest", "highest"}

CONSTANT, PLAIN, DELTA, ZIGZAG_DELTA, GAP, SPARSE_DELTA, DICTIONARY = range(7)
MASK = (1 << 64) - 1

_zstd = ctypes.CDLL("libzstd.so.1")
_zstd.ZSTD_decompress.restype = ctypes.c_size_t
_zstd.ZSTD_decompress.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
_xxhash = ctypes.CDLL("libxxhash.so.0")
_xxhash.XXH3_64bits_withSeed.restype = ctypes.c_uint64
_xxhash.XXH3_64bits_withSeed.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)


class FormatError(Exception):
    """The file breaks a rule of the format."""


def xxh3(data, seed=0):
    return _xxhash.XXH3_64bits_withSeed(data, len(data), seed)


def decompress(frame, size):
    """The `size` bytes that a zstd frame holds."""
    out = ctypes.create_string_buffer(size)
    if _zstd.ZSTD_decompress(out, size, frame, len(frame)) != size:
        raise FormatError(f"a zstd frame does not hold {size} bytes")
    return out.raw


def unzigzag(v):
    return (v >> 1) ^ -(v & 1)


def running_sums(base, steps):
    """base, and with each step added; one more than steps."""
    return [value & MASK for value in itertools.accumulate(steps, initial=base)]


class Cursor:
    """Takes bytes and numbers off the front of a payload."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if size > len(self.data) - self.at:
            raise FormatError("a payload ends too early")
        self.at += size
        return self.data[self.at - size:self.at]

    def varint(self):
        value = 0
        for shift in range(0, 64, 7):
            byte, = self.take(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & MASK
        raise FormatError("a varint is longer than 64 bits")


class Column:
    """One column as it lies in a payload: its head, and after take_data() its dictionary and planes."""

    def __init__(self, cursor):
        self.scope, self.number, self.coding, width = cursor.take(4)
        self.base, self.unit = cursor.varint(), cursor.varint()
        self.dictionary_bytes = cursor.varint() if self.coding == DICTIONARY else 0
        self.plane_heads = [cursor.varint() for _ in range(width)]

    def take_data(self, cursor):
        entries = Cursor(cursor.take(self.dictionary_bytes))
        self.dictionary = [entries.varint() for _ in range(self.base)] if self.coding == DICTIONARY else []
        self.planes = [(head % 4, head // 4 if head % 4 == 0 else cursor.take(head // 4)) for head in self.plane_heads]

    def numbers(self, rows):
        """v of each row."""
        little_endian = bytearray(8 * rows)
        for byte, (kind, data) in enumerate(self.planes):
            little_endian[byte::8] = bytes([data]) * rows if kind == 0 else data if kind == 1 else decompress(data, rows)
        return struct.unpack(f"<{rows}Q", little_endian)

    def values(self, rows, durations):
        """The value of each row, 64 bits without a sign. `durations`: of the same rows, for the coding gap."""
        base, unit, numbers = self.base, self.unit, self.numbers(rows)
        if self.coding == CONSTANT:
            return [base] * rows
        if self.coding == PLAIN:
            return [(base + unit * v) & MASK for v in numbers]
        if self.coding == DELTA:
            return running_sums(base, (unit * v for v in numbers))[1:]
        if self.coding == ZIGZAG_DELTA:
            return running_sums(base, (unit * unzigzag(v) for v in numbers))[1:]
        if self.coding == GAP:
            befores = itertools.chain([0], durations)
            return running_sums(base, (before + unit * unzigzag(v) for v, before in zip(numbers, befores)))[1:]
        if self.coding == SPARSE_DELTA:
            last = running_sums(base, (unzigzag(v - 1) if v else 0 for v in numbers))[1:]
            return [value if v else 0 for v, value in zip(numbers, last)]
        if self.coding == DICTIONARY:
            return [self.dictionary[v] for v in numbers]
        raise FormatError(f"coding {self.coding} is unknown")


def read_columns(payload):
    """The columns of a payload by (scope, number)."""
    cursor = Cursor(payload)
    columns = [Column(cursor) for _ in range(cursor.varint())]
    for column in columns:
        column.take_data(cursor)
    if cursor.at != len(payload):
        raise FormatError("something stands behind the columns")
    return {(column.scope, column.number): column for column in columns}


def table(columns, scope, names, rows):
    """Name → values, of the columns of a scope that has so many rows."""
    values = {}
    for name, column in sorted((name, columns.get((scope, number))) for number, name in enumerate(names)):  # dur before start
        values[name] = column.values(rows, values.get("dur")) if column else [0] * rows
    return {name: typed(name, values[name]) for name in names}


def typed(name, values):
    """The values as what columns of the name hold."""
    letter = "d" if name in FLOATING else "q" if name in SIGNED else "Q"
    return list(struct.unpack(f"<{len(values)}{letter}", struct.pack(f"<{len(values)}Q", *values)))


class Block(namedtuple("Block", "offset type flags stored_size size track rows first_start last_end kinds payload")):
    """A block's place, header and payload (decompressed)."""

    @property
    def end(self):
        return self.offset + BLOCK_HEADER.size + self.stored_size


def read_header(data, offset):
    """The block at `offset` without its payload; None when there is none or its header's checksum is wrong."""
    header = data[offset:offset + BLOCK_HEADER.size]
    if len(header) < BLOCK_HEADER.size or not header.startswith(BLOCK_MAGIC):
        return None
    _, *fields, header_checksum, _ = BLOCK_HEADER.unpack(header)
    block = Block(offset, *fields, payload=b"")
    return block if xxh3(header[:-16]) == header_checksum and block.stored_size <= MAX_PAYLOAD_BYTES else None


def read_block(data, offset):
    """The block at `offset`; None when there is none, it is cut, or a checksum is wrong."""
    block = read_header(data, offset)
    if not block:
        return None
    header, stored = data[offset:offset + BLOCK_HEADER.size], data[offset + BLOCK_HEADER.size:block.end]
    if len(stored) < block.stored_size or xxh3(stored, xxh3(header[:-8])) != BLOCK_HEADER.unpack(header)[-1]:
        return None
    if block.size > MAX_PAYLOAD_BYTES or (block.type == EVENTS and block.rows > MAX_ROWS):
        raise FormatError(f"the block at {offset} is larger than a block may be")
    return block._replace(payload=decompress(stored, block.size) if block.flags & 1 else stored)


def walk_blocks(data):
    """The good blocks from front to back, and the (offset, size) of everything else."""
    blocks, damage = [], []
    at = expected = FILE_HEADER.size
    while (at := data.find(BLOCK_MAGIC, at)) >= 0:
        header = read_header(data, at)
        if not header:
            at += 1
            continue
        damage += [(expected, at - expected)] if at > expected else []
        block, end = read_block(data, at), min(header.end, len(data))
        is_finished = header.type == INDEX and data[end:end + END.size].endswith(END_MAGIC)
        at = expected = end + (END.size if is_finished else 0)
        blocks += [block] if block else []
        damage += [] if block else [(header.offset, end - header.offset)]
    damage += [(expected, len(data) - expected)] if expected < len(data) else []
    return blocks, damage


def indexed_blocks(data, index):
    """The good blocks that an index names, and the (offset, size) of the others."""
    places = list(zip(index["offset"], index["size"]))
    blocks = [read_block(data, offset) for offset, _ in places]
    return [block for block in blocks if block], [place for place, block in zip(places, blocks) if not block]


def read_index(data):
    """The rows of the index that the end of the file points to; None in a file that was cut or damaged there."""
    offset, checksum, magic = END.unpack(data[-END.size:].rjust(END.size, b"\0"))
    if magic != END_MAGIC or xxh3(struct.pack("<Q", offset)).to_bytes(8, "little") != checksum:
        return None
    block = read_block(data, offset)
    return table(read_columns(block.payload), 0, COLUMNS["index"], block.rows) if block and block.type == INDEX else None


def read_strings(payload):
    """The (id, text) pairs of a block of strings."""
    cursor = Cursor(payload)
    first, count = struct.unpack("<II", cursor.take(8))
    lengths = struct.unpack(f"<{count}I", cursor.take(4 * count))
    return [(id, cursor.take(length)) for id, length in enumerate(lengths, first)]


class TraceFile:
    """A .stepscope file. Its own account is `description` (`info`, `devices`, `log`, `columns`). Numbers are the keys of `tracks` and
    `strings` (bytes). Good blocks are in `blocks`, the (offset, size) of each part that was left out is in `damage`. The columns of
    the index are `index`, or None. The index finds the blocks; without one, or with `walk`, a walk over the file does. Times are ns."""

    def __init__(self, path, walk=False):
        with open(path, "rb") as file:
            data = file.read()
        magic, version, header_bytes, _ = FILE_HEADER.unpack(data[:FILE_HEADER.size].ljust(FILE_HEADER.size, b"\0"))
        if magic != FILE_MAGIC or version > NEWEST_VERSION or header_bytes != FILE_HEADER.size:
            raise FormatError(f"{path} is no .stepscope file of version {NEWEST_VERSION}")
        self.index = read_index(data)
        self.blocks, self.damage = walk_blocks(data) if walk or self.index is None else indexed_blocks(data, self.index)
        self.description, self.tracks, self.strings = {"columns": {}}, {}, {0: b""}
        for block in self.blocks:
            if block.type == STRINGS:
                self.strings.update(read_strings(block.payload))
            elif block.type == DESCRIPTION:
                self.description = json.loads(block.payload)
            elif block.type == TRACKS:
                part = json.loads(block.payload)
                self.tracks.update(enumerate(part["tracks"], part["first"]))

    def events(self, track):
        """The track's events by start, longer ones first, in columns: `start`, `dur`, and so on. Each detail table is a dict of columns.
        The column `detail` has the row of its kind's table that an event owns, None for kinds without a table."""
        names = COLUMNS | self.description["columns"]
        found = {name: [] for name in (*names["events"], "detail")}
        details = {table: {name: [] for name in names[table]} for table in DETAIL_TABLES}
        next_row = {table: itertools.count() for table in DETAIL_TABLES}
        for block in self._blocks(EVENTS, track):
            columns = read_columns(block.payload)
            rows = table(columns, 0, names["events"], block.rows)
            owners = [TABLE_OF_KIND.get(kind) for kind in rows["kind"]]
            rows["detail"] = [next(next_row[owner]) if owner else None for owner in owners]
            extend(found, rows)
            for scope, name in enumerate(DETAIL_TABLES, 1):
                extend(details[name], table(columns, scope, names[name], owners.count(name)))
        order = sorted(range(len(found["start"])), key=lambda row: (found["start"][row], -found["dur"][row]))
        return {name: [values[row] for row in order] for name, values in found.items()} | details

    def summary(self, track):
        """The columns of the track's bins, and in `end` where each ends; None for a track without a summary."""
        for block in self._blocks(SUMMARY, track):
            bins = table(read_columns(block.payload), 0, COLUMNS["summary"], block.rows)
            return bins | {"end": bins["begin"][1:] + [block.last_end]}
        return None

    def steps(self):
        """The columns of the list of steps; None in a file without one."""
        for block in self._blocks(STEPS):
            return table(read_columns(block.payload), 0, COLUMNS["step_list"], block.rows)
        return None

    def _blocks(self, type, track=None):
        return [block for block in self.blocks if block.type == type and track in (None, block.track)]


def extend(columns, more):
    for name, values in more.items():
        columns[name] += values
