"""What can go wrong, with the messages of the command `stepscope`."""


class Error(Exception):
    """Every error of this package that is not a wrong type of an argument."""


class TraceError(Error):
    """A trace cannot be found, opened or read."""


class PartError(Error, ValueError):
    """The steps or the rank that were asked for are not in the run."""


class QueryError(Error, ValueError):
    """A question in SQL, or a table, that cannot be answered.

    offset: where in the SQL, in bytes of UTF-8; None where that is not known.
    """

    def __init__(self, message, offset=None):
        super().__init__(message)
        self.offset = offset


class ChangeError(Error, ValueError):
    """A change that cannot be predicted."""


class ComparisonError(Error):
    """Runs that cannot be compared."""


class CheckError(Error):
    """A gate that cannot judge: nothing to compare with, or a file that cannot be read."""


class ClosedError(Error):
    """The run is closed, or was opened before the process was forked."""


class CaptureError(Error):
    """Nothing is recorded, where the program itself starts and stops it."""
