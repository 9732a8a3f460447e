#include "analyzer/metrics/host/callers.h"

#include <algorithm>
#include <array>

#include "analyzer/metrics/host/python_frames.h"

namespace stepscope::analyzer {
namespace {

/// PyTorch's packages, and the modules of Python's library that call functions which they are given
/// or in which a program waits. Modules whose names programs like (test, profile, code) are not
/// here. Sorted.
constexpr auto kLibraries = std::to_array<std::string_view>(
    {"_weakrefset",     "abc",         "asyncio",    "bdb",         "cProfile",
     "codecs",          "collections", "concurrent", "contextlib",  "copy",
     "copyreg",         "csv",         "ctypes",     "dataclasses", "enum",
     "functools",       "genericpath", "gzip",       "heapq",       "http",
     "importlib",       "inspect",     "io",         "json",        "logging",
     "multiprocessing", "operator",    "os",         "pathlib",     "pdb",
     "pickle",          "posixpath",   "queue",      "random",      "re",
     "runpy",           "selectors",   "shutil",     "signal",      "socket",
     "sre_compile",     "sre_parse",   "ssl",        "string",      "subprocess",
     "tempfile",        "threading",   "timeit",     "torch",       "traceback",
     "triton",          "types",       "typing",     "urllib",      "uuid",
     "warnings",        "weakref",     "zipfile",    "zipimport"});
static_assert(std::is_sorted(kLibraries.begin(), kLibraries.end()));
/// What is behind these is a library's path as if nothing said where Python is installed.
constexpr std::array<std::string_view, 2> kPackages = {"site-packages/", "dist-packages/"};

}  // namespace

bool is_own_function(std::string_view name) {
  if (!is_python_frame(name) || name.find(".py(") == std::string_view::npos) return false;
  for (std::string_view const packages : kPackages)
    if (size_t const at = name.find(packages); at != std::string_view::npos)
      name.remove_prefix(at + packages.size());

  // "torch/nn/modules/module.py(1743): _call_impl" or "contextlib.py(81): inner".
  std::string_view const module = name.substr(0, name.find_first_of("/."));
  return !name.starts_with('<') &&
         !std::binary_search(kLibraries.begin(), kLibraries.end(), module);
}

Callers::Callers(model::Trace const& trace) : trace_(trace) {
  std::vector<bool> is_own(trace.strings().size());
  bool any = false;
  for (uint32_t id = 1; id < is_own.size(); ++id) {
    is_own[id] = is_own_function(trace.text(model::StringId{id}));
    any = any || is_own[id];
  }
  if (!any) return;
  is_own_ = std::move(is_own);
  threads_.resize(trace.tracks().size());
}

model::StringId Callers::caller_of(uint32_t row) {
  if (is_own_.empty()) return {};
  model::TrackId const track = trace_.columns().track[row];
  if (trace_.tracks()[track.value].kind != model::TrackKind::kThread) return {};
  if (!threads_[track.value].is_known) find(track);
  return threads_[track.value].of_row[row - trace_.rows_of(track).first];
}

void Callers::find(model::TrackId thread) {
  struct Open {
    model::StringId name;
    int64_t end = 0;
  };
  std::vector<Open> open;  // functions of the program, the innermost last

  model::Trace::Rows const rows = trace_.rows_of(thread);
  auto const& columns = trace_.columns();
  Thread& found = threads_[thread.value];
  found.is_known = true;
  found.of_row.resize(rows.last - rows.first);

  for (uint32_t row = rows.first; row < rows.last; ++row) {
    int64_t const start = columns.start[row];
    while (!open.empty() && open.back().end <= start) open.pop_back();
    model::StringId const name = columns.name[row];
    if (is_own_[name.value])
      open.push_back({name, start + columns.dur[row]});
    else if (!open.empty())
      found.of_row[row - rows.first] = open.back().name;
  }
}

}  // namespace stepscope::analyzer
