// THE list of formats that runs are exported to. A new format is one folder with a class and an
// open function, and one line in exporters.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "trace/base/expected.h"
#include "trace/model/trace.h"

namespace stepscope::exporting {

/// Writes a run, one process after the other; a file is complete only after finish(). Destroyed
/// before: what it wrote is removed. Not thread-safe. After an error only destruction is allowed.
class Exporter {
 public:
  Exporter() = default;
  Exporter(Exporter const&) = delete;
  Exporter& operator=(Exporter const&) = delete;
  virtual ~Exporter() = default;
  /// Run time = trace time + offset_ns. Processes come by (rank, process id). Errors: the disk is
  /// full, the file is gone.
  virtual base::Expected<void> add(model::Trace const& trace, int64_t offset_ns) = 0;
  /// Errors: as above; then nothing stays of it.
  virtual base::Expected<void> finish() = 0;
  /// After finish(), where every process of the run was exported: removes files that an earlier
  /// export of a larger run left there. Readers would take them for a part of this one. Returns how
  /// many it removed.
  virtual size_t remove_leftovers() { return 0; }
  /// After finish(): what one has to know of the result, for people. Empty = nothing.
  [[nodiscard]] virtual std::string note() const { return {}; }
};

struct ExportFormat {
  std::string_view name;         ///< what --format takes
  std::string_view file_suffix;  ///< ".pftrace": of the file that is written, tells the format
                                 ///< where --format does not
  std::string_view summary;      ///< for --help
  bool may_be_folder;            ///< false: one file, never a folder
  /// Begins the file (or folder) `path`; what was there stays until finish(). Errors: it cannot be
  /// written.
  base::Expected<std::unique_ptr<Exporter>> (*open)(std::string const& path);
};

std::span<ExportFormat const> export_formats();

}  // namespace stepscope::exporting
