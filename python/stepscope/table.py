"""Rows of a result, a column at a time, without copies where the other side can take them."""

import threading

from stepscope import _engine


class Column(_engine.Column):
    """A column: integers, reals or texts; None where there is no value.

    numpy.asarray() takes its numbers without a copy.

    * name, and type: "integer", "real" or "text".
    * nulls: how many rows have no value. null_mask(): which ones; None where all have one.
    * texts: each text once, in the order in which they came.
    * values(): a buffer (PEP 3118) of int64, float64, or for texts of int32 places in `texts`, −1
      where there is none.
    """

    def __getitem__(self, row):
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        return super().__getitem__(row)

    def __iter__(self):
        values = memoryview(self.values()).tolist()
        if self.type == "text":
            texts = self.texts
            return (texts[code] if code >= 0 else None for code in values)
        for row, integer in self.exact_integers().items():
            values[row] = integer
        mask = self.null_mask()
        if mask is None:
            return iter(values)
        return (None if is_null else value for value, is_null in zip(values, memoryview(mask)))

    def to_list(self):
        """Integers are exact, also those in a column of reals."""
        return list(self)

    def to_numpy(self):
        """An array without a copy that cannot be written; texts as an array of objects.

        Reals have NaN where there is none. Raises ValueError where integers have none: take them
        with to_pandas(), or as a list.
        """
        import numpy

        values = numpy.asarray(self.values())
        if self.type == "text":
            texts = numpy.array([*self.texts, None], dtype=object)
            return texts[values]
        if self.type == "integer" and self.nulls:
            raise ValueError(
                f"{self.name} has {self.nulls} rows without a value, which numpy's integers cannot "
                "say: take to_pandas(), to_list(), or values() with null_mask()"
            )
        return values

    def __array__(self, dtype=None, copy=None):
        import numpy

        array = numpy.asarray(self.to_numpy(), dtype=dtype)
        return array.copy() if copy else array

    def to_pandas(self, copy=True):
        """A Series; texts as a Categorical, integers with gaps as Int64. Without a copy it cannot be
        written."""
        import numpy
        import pandas

        values = numpy.array(self.values(), copy=copy)
        if self.type == "text":
            made = pandas.Categorical.from_codes(values, categories=self.texts)
            return pandas.Series(made, name=self.name)
        mask = self.null_mask()
        if self.type == "integer" and mask is not None:
            made = pandas.arrays.IntegerArray(values, numpy.array(mask, copy=copy))
            return pandas.Series(made, name=self.name)
        return pandas.Series(values, name=self.name, copy=False)

    def __repr__(self):
        return f"<stepscope.Column {self.name}: {len(self)} × {self.type}>"


class Table:
    """Rows of a query or a table. `table["name"]` and `table.name` are columns."""

    _SHOWN = 10

    def __init__(self, native, read_again=None):
        """read_again: gives the same rows once more; None where that cannot be."""
        self._rows = native
        self._read_again = read_again
        self._made_columns = None
        self._giving = threading.Lock()

    @property
    def _native(self):
        if self._rows is None:
            self._rows = self._read_again()
        return self._rows

    @property
    def _columns(self):
        if self._made_columns is None:
            self._made_columns = _columns_of(self._native)
        return self._made_columns

    @property
    def names(self):
        """The columns' names; a second one of a name gets "_2" behind it."""
        return list(self._columns)

    @property
    def columns(self):
        return list(self._columns.values())

    def __len__(self):
        return len(self._native)

    def __getitem__(self, name):
        try:
            return self._columns[name]
        except (KeyError, TypeError):
            raise KeyError(f"there is no column {name!r}, but {', '.join(self._columns)}") from None

    def __getattr__(self, name):
        columns = {} if name.startswith("_") else self._columns
        if name in columns:
            return columns[name]
        raise AttributeError(f"there is no column {name!r}, but {', '.join(columns)}")

    def __dir__(self):
        return [*super().__dir__(), *self._columns]

    def __iter__(self):
        """Row after row, as tuples."""
        return zip(*self._columns.values())

    def to_dict(self):
        """{column: [values]}."""
        return {name: column.to_list() for name, column in self._columns.items()}

    def to_dicts(self):
        """[{column: value}], a row each."""
        return [dict(zip(self._columns, row)) for row in self]

    def __arrow_c_stream__(self, requested_schema=None):
        """The Arrow PyCapsule interface: pyarrow, polars and DuckDB take the table without a copy."""
        return self._native.__arrow_c_stream__(requested_schema)

    def to_arrow(self):
        """A pyarrow.Table."""
        pyarrow = _needed("pyarrow")
        return pyarrow.table(self)

    def to_polars(self):
        """A polars.DataFrame."""
        polars = _needed("polars")
        return polars.DataFrame(self)

    def to_pandas(self, copy=True):
        """A pandas.DataFrame; texts as Categoricals. Without a copy it cannot be written.

        A table that nothing was taken from yet gives the frame its memory instead of a copy. Where it is
        asked for something later, it reads the run again, and raises ClosedError if the run is closed.
        """
        pandas = _needed("pandas")
        taken = self._rows_to_give() if copy and self._read_again else None
        columns = self._columns if taken is None else _columns_of(taken)
        series = {name: column.to_pandas(copy and taken is None) for name, column in columns.items()}
        return pandas.DataFrame(series, copy=False)

    def _rows_to_give(self):
        """The rows, which this table then has no more; None where something else has them, too."""
        with self._giving:
            rows = self._rows
            taken = rows.take() if rows is not None else None
            if taken is not None:
                self._rows = self._made_columns = None
            return taken

    def __repr__(self):
        """The first rows, with short texts."""
        shown = min(len(self), self._SHOWN)
        rows = [self.names, *([_short(column[i], 24) for column in self.columns] for i in range(shown))]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self.names))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([f"<stepscope.Table: {len(self):,} rows>", *lines])

    def _repr_html_(self):
        from html import escape

        shown = min(len(self), self._SHOWN)
        align = ["left" if column.type == "text" else "right" for column in self.columns]
        head = "".join(
            f'<th style="text-align:{side}">{escape(name)}</th>' for name, side in zip(self.names, align)
        )
        rows = ""
        for row in range(shown):
            cells = (_cell(column[row], side) for column, side in zip(self.columns, align))
            rows += f"<tr>{''.join(cells)}</tr>"
        more = f"<p>{shown} of {len(self):,} rows</p>" if shown < len(self) else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _columns_of(native):
    return {name: Column(native, i) for i, name in enumerate(native.names)}


_LONGEST_CELL = 60


def _cell(value, side):
    """Long texts are cut, and whole where the pointer rests on them."""
    from html import escape

    text = _short(value, None)
    shown = _short(value, _LONGEST_CELL)
    title = f' title="{escape(text)}"' if shown != text else ""
    return f'<td style="text-align:{side};white-space:nowrap"{title}>{escape(shown)}</td>'


def _short(value, most):
    text = "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
    return text if most is None or len(text) <= most else text[: most - 1] + "…"


def _needed(name):
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"{name} is not installed: pip install {name}") from error
