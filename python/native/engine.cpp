// stepscope._engine: runs, their analysis and their tables for Python. The package's own modules
// (python/stepscope) make of it what people use.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>

#include "python/native/arrow.h"
#include "python/native/interruptible.h"
#include "python/native/judgements.h"
#include "python/native/open_run.h"
#include "query/schema.h"

namespace py = pybind11;

namespace stepscope::python {
namespace {

using query::Column;
using query::ValueType;

/// Raises stepscope.errors.NAME.
[[noreturn]] void raise(char const* name, std::string const& message) {
  py::object const type = py::module_::import("stepscope.errors").attr(name);
  PyErr_SetString(type.ptr(), message.c_str());
  throw py::error_already_set();
}
[[noreturn]] void raise_query_error(query::QueryError const& error) {
  py::object const type = py::module_::import("stepscope.errors").attr("QueryError");
  py::object const made =
      error.offset ? type(error.message, *error.offset) : type(error.message, py::none());
  PyErr_SetObject(type.ptr(), made.ptr());
  throw py::error_already_set();
}

template <class T>
T value_or_raise(base::Expected<T> result, char const* error_name) {
  if (!result) raise(error_name, result.error().message);
  return std::move(*result);
}

/// A run as Python holds it; closed, nothing can be asked.
class PyRun {
 public:
  explicit PyRun(std::shared_ptr<OpenRun> run) : run_(std::move(run)) {}

  [[nodiscard]] std::shared_ptr<OpenRun> get() const {
    if (run_ == nullptr) raise("ClosedError", "the run is closed, open it again");
    if (run_->is_of_parent())
      raise("ClosedError", "the run was opened before this process was forked, open it here");
    return run_;
  }
  void close() { run_.reset(); }
  /// Or of no use any more.
  [[nodiscard]] bool is_closed() const { return run_ == nullptr || run_->is_of_parent(); }

 private:
  std::shared_ptr<OpenRun> run_;
};

/// Rows of a result, one column after the other.
struct PyTable {
  Columns columns;
  bool is_writable = false;  ///< nothing but these buffers has the memory
};
struct PyColumn {
  Columns columns;
  size_t index;
  bool is_writable = false;

  [[nodiscard]] Column const& get() const { return (*columns)[index]; }
};

/// Work that looks at a flag ends soon after the wait for it does.
template <class Ask>
auto ask_interruptibly(Ask ask) {
  auto const is_given_up = std::make_shared<std::atomic<bool>>(false);

  try {
    return interruptibly([ask = std::move(ask), is_given_up]() mutable {
      return ask([is_given_up] { return is_given_up->load(std::memory_order_relaxed); });
    });
  } catch (py::error_already_set const&) {
    is_given_up->store(true);
    throw;
  }
}

/// Columns of the same name get "_2" and so on behind it: a frame has one of each.
PyTable table_of(std::vector<Column> columns) {
  std::set<std::string> taken;
  for (Column& column : columns) {
    std::string const name = column.name;
    for (int again = 2; !taken.insert(column.name).second; ++again)
      column.name = name + "_" + std::to_string(again);
  }
  return {std::make_shared<std::vector<Column> const>(std::move(columns))};
}

PyRun open(std::vector<std::string> paths, bool one_run) {
  auto const progress = std::make_shared<run_loading::LoadingProgress>();
  auto opened = interruptibly([paths = std::move(paths), one_run,
                               progress] { return OpenRun::open(paths, one_run, *progress); },
                              [progress] { return run_loading::describe(*progress); });
  return PyRun(value_or_raise(std::move(opened), "TraceError"));
}

std::string analysis_json(PyRun const& run, std::optional<std::pair<int64_t, int64_t>> steps,
                          std::optional<int32_t> rank) {
  auto json = interruptibly(
      [opened = run.get(), steps, rank] { return opened->analysis_json(steps, rank); });
  return value_or_raise(std::move(json), "PartError");
}

std::string analysis_text(PyRun const& run) {
  auto text = interruptibly([opened = run.get()] { return opened->analysis_text(); });
  return value_or_raise(std::move(text), "TraceError");
}

std::string report_html(PyRun const& run, std::string const& language) {
  auto page =
      interruptibly([opened = run.get(), language] { return opened->report_html(language); });
  return value_or_raise(std::move(page), "TraceError");
}

std::string whatif_json(PyRun const& run, std::vector<std::string> const& changes, bool together) {
  auto json = interruptibly(
      [opened = run.get(), changes, together] { return opened->whatif_json(changes, together); });
  return value_or_raise(std::move(json), "ChangeError");
}

PyTable ask(PyRun const& run, std::string const& sql) {
  auto rows =
      ask_interruptibly([opened = run.get(), sql](std::function<bool()> const& is_given_up) {
        return opened->query(sql, is_given_up);
      });
  if (!rows) raise_query_error(rows.error());
  return table_of(std::move(*rows));
}

PyTable table(PyRun const& run, std::string const& name, std::vector<std::string> const& columns) {
  auto rows = ask_interruptibly(
      [opened = run.get(), name, columns](std::function<bool()> const& is_given_up) {
        return opened->table(name, columns, is_given_up);
      });
  if (!rows) raise_query_error({rows.error().message, std::nullopt});
  return table_of(std::move(*rows));
}

std::string compare(std::vector<PyRun*> const& base, std::vector<PyRun*> const& candidate,
                    double min_effect_percent, bool paired) {
  std::vector<std::shared_ptr<OpenRun>> before, after;
  for (PyRun const* const run : base) before.push_back(run->get());
  for (PyRun const* const run : candidate) after.push_back(run->get());
  auto json = interruptibly([before, after, min_effect_percent, paired] {
    return comparison_json(before, after, min_effect_percent, paired);
  });
  return value_or_raise(std::move(json), "ComparisonError");
}

using RunOrFile = std::variant<PyRun*, std::string>;

std::string check(std::vector<PyRun*> const& candidate, std::vector<RunOrFile> const& baseline,
                  std::string const& budget, std::string const& name, double min_effect_percent,
                  bool paired) {
  GateQuestion question{
      .budget = budget, .name = name, .least_percent = min_effect_percent, .is_paired = paired};
  for (PyRun const* const run : candidate) question.candidate.push_back(run->get());
  for (RunOrFile const& each : baseline) {
    if (auto* const* const run = std::get_if<PyRun*>(&each))
      question.base.emplace_back((*run)->get());
    else
      question.base.emplace_back(std::get<std::string>(each));
  }

  auto json = interruptibly([question] { return gate_json(question); });
  return value_or_raise(std::move(json), "CheckError");
}

/// name → (meaning, [(column, meaning)]).
py::dict schema() {
  py::dict tables;
  for (query::SchemaTable const& table : query::schema()) {
    py::list columns;
    for (query::SchemaColumn const& column : table.columns)
      columns.append(py::make_tuple(column.name, column.meaning));
    tables[py::str(std::string(table.name))] = py::make_tuple(table.meaning, columns);
  }
  return tables;
}

/// The numbers of a column, or the places of its texts. Not the column itself: numpy would take
/// the zeros of rows without a value for numbers.
struct PyValues {
  Columns columns;
  size_t index;
  bool is_writable;
};

py::buffer_info buffer_of(PyValues const& values) {
  Column const& data = (*values.columns)[values.index];
  auto const rows = static_cast<py::ssize_t>(data.rows());
  auto const buffer = [&]<class Number>(Number const* numbers) {
    return py::buffer_info(const_cast<Number*>(numbers), rows, !values.is_writable);
  };
  if (data.type == ValueType::kText) return buffer(data.codes.data());
  return data.type == ValueType::kReal ? buffer(data.reals.data()) : buffer(data.integers.data());
}

py::object value_at(PyColumn const& column, py::ssize_t index) {
  Column const& data = column.get();
  auto const rows = static_cast<py::ssize_t>(data.rows());
  if (index < 0) index += rows;
  if (index < 0 || index >= rows) throw py::index_error("row " + std::to_string(index));

  auto const row = static_cast<size_t>(index);
  if (!data.is_null.empty() && data.is_null[row] != 0) return py::none();
  if (data.type == ValueType::kText)
    return py::str(data.texts[static_cast<size_t>(data.codes[row])]);
  if (data.type == ValueType::kInteger) return py::int_(data.integers[row]);
  auto const exact = data.exact.find(row);
  if (exact == data.exact.end()) return py::float_(data.reals[row]);
  return exact->second.type == model::Cell::Type::kUnsigned ? py::int_(exact->second.bits)
                                                            : py::int_(exact->second.integer());
}

/// {row: integer} of a column of reals: those that a real does not hold exactly.
py::dict exact_integers(PyColumn const& column) {
  py::dict integers;
  for (auto const& [row, cell] : column.get().exact)
    integers[py::int_(row)] = value_at(column, static_cast<py::ssize_t>(row));
  return integers;
}

char const* type_name(PyColumn const& column) {
  ValueType const type = column.get().type;
  if (type == ValueType::kText) return "text";
  return type == ValueType::kReal ? "real" : "integer";
}

/// A byte a row, 1 where there is no value.
struct PyNulls {
  Columns columns;
  size_t index;
  bool is_writable;
};

py::buffer_info buffer_of_nulls(PyNulls const& nulls) {
  std::vector<uint8_t> const& mask = (*nulls.columns)[nulls.index].is_null;
  return {const_cast<uint8_t*>(mask.data()), 1, "?", static_cast<py::ssize_t>(mask.size()),
          !nulls.is_writable};
}

/// None where all rows have a value.
py::object null_mask(PyColumn const& column) {
  if (column.get().is_null.empty()) return py::none();
  return py::cast(PyNulls{column.columns, column.index, column.is_writable});
}

/// The table's memory for a caller who may write into it; the table has none of it then. None where
/// a column, a buffer or another library has it, too.
py::object take(PyTable& table) {
  if (table.columns.use_count() > 1) return py::none();
  return py::cast(
      PyTable{std::exchange(table.columns, std::make_shared<std::vector<Column>>()), true});
}

py::capsule arrow_stream(PyTable const& table, py::object const& /*requested_schema*/) {
  auto const release = [](PyObject* capsule) {
    auto* const stream =
        static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
    if (stream->release != nullptr) stream->release(stream);
    delete stream;
  };
  return py::capsule(new_arrow_stream(table.columns), "arrow_array_stream", release);
}

void add_run(py::module_& module) {
  using namespace py::literals;

  py::class_<PyRun>(module, "Run")
      .def("close", &PyRun::close)
      .def_property_readonly("closed", &PyRun::is_closed)
      .def_property_readonly("paths",
                             [](PyRun const& run) {
                               py::list paths;  // bytes: a name need not be UTF-8
                               for (auto const& path : run.get()->paths())
                                 paths.append(py::bytes(path));
                               return paths;
                             })
      .def_property_readonly("notes", [](PyRun const& run) { return run.get()->notes(); })
      .def("analysis_json", analysis_json, "steps"_a = py::none(), "rank"_a = py::none())
      .def("analysis_text", analysis_text)
      .def("report_html", report_html, "language"_a)
      .def("whatif_json", whatif_json, "changes"_a, "together"_a)
      .def("query", ask, "sql"_a)
      .def("table", table, "name"_a, "columns"_a);
}

void add_tables(py::module_& module) {
  using namespace py::literals;

  py::class_<PyTable>(module, "Table")
      .def_property_readonly("names",
                             [](PyTable const& table) {
                               std::vector<std::string> names;
                               for (auto const& column : *table.columns)
                                 names.push_back(column.name);
                               return names;
                             })
      .def("__len__",
           [](PyTable const& table) {
             return table.columns->empty() ? size_t{0} : table.columns->front().rows();
           })
      .def("take", take)
      .def("__arrow_c_stream__", arrow_stream, "requested_schema"_a = py::none());

  py::class_<PyNulls>(module, "Nulls", py::buffer_protocol()).def_buffer(buffer_of_nulls);
  py::class_<PyValues>(module, "Values", py::buffer_protocol()).def_buffer(buffer_of);
  py::class_<PyColumn>(module, "Column")
      .def(py::init([](PyTable const& table, size_t index) {
        if (index >= table.columns->size()) throw py::index_error("no such column");
        return PyColumn{table.columns, index, table.is_writable};
      }))
      .def("values",
           [](PyColumn const& column) {
             return PyValues{column.columns, column.index, column.is_writable};
           })
      .def("exact_integers", exact_integers)
      .def_property_readonly("name", [](PyColumn const& column) { return column.get().name; })
      .def_property_readonly("type", type_name)
      .def_property_readonly("nulls", [](PyColumn const& column) { return column.get().nulls; })
      .def_property_readonly("texts", [](PyColumn const& column) { return column.get().texts; })
      .def("null_mask", null_mask)
      .def("__len__", [](PyColumn const& column) { return column.get().rows(); })
      .def("__getitem__", value_at);
}

}  // namespace
}  // namespace stepscope::python

PYBIND11_MODULE(_engine, module) {
  using namespace stepscope::python;
  using namespace py::literals;

  add_run(module);
  add_tables(module);
  module.def("open", open, "paths"_a, "one_run"_a);
  module.def("compare", compare, "base"_a, "candidate"_a, "min_effect_percent"_a, "paired"_a);
  module.def("check", check, "candidate"_a, "baseline"_a, "budget"_a, "name"_a,
             "min_effect_percent"_a, "paired"_a);
  module.def("is_run_for_gate", is_run_for_gate, "path"_a);
  module.def("schema", schema);
}
