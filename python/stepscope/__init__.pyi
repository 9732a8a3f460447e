from stepscope.capture import (
    input_wait as input_wait,
    memory_category as memory_category,
    name_thread as name_thread,
    note as note,
    phase as phase,
    start as start,
    step as step,
    steps as steps,
    stop as stop,
    wait as wait,
    window as window,
    work as work,
)
from stepscope.errors import (
    CaptureError as CaptureError,
    ChangeError as ChangeError,
    CheckError as CheckError,
    ClosedError as ClosedError,
    ComparisonError as ComparisonError,
    Error as Error,
    PartError as PartError,
    QueryError as QueryError,
    TraceError as TraceError,
)
from stepscope.results import (
    Analysis as Analysis,
    Record as Record,
)
from stepscope.table import (
    Column as Column,
    Table as Table,
)
from stepscope.run import (
    Run as Run,
    check as check,
    compare as compare,
    open as open,
    tables as tables,
)

__version__: str
