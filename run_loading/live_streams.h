// The streams of a run's folder (trace/stream), read again and again while the run grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/live/live_run.h"
#include "trace/base/expected.h"
#include "trace/stream/stream_file.h"

namespace stepscope::run_loading {

class LiveStreams {
 public:
  /// `folder`: of the run, or the one of its streams. Errors: it has no stream; there is none yet.
  static base::Expected<LiveStreams> open(std::string const& folder);

  /// Reads what has come since, also of ranks that are new.
  void refresh();
  [[nodiscard]] analyzer::LiveRun const& run() const { return run_; }
  /// What could not be read, one sentence a file.
  [[nodiscard]] std::vector<std::string> const& problems() const { return problems_; }
  [[nodiscard]] std::string const& folder() const { return folder_; }

 private:
  explicit LiveStreams(std::string folder) : folder_(std::move(folder)) {}
  void find_new();
  void read(stream::GrowingStream& file);

  std::string folder_;
  std::map<std::string, stream::GrowingStream> files_;  ///< by name
  /// The newest process of each rank counts, where one was started again: its begin and file.
  std::map<int32_t, std::pair<int64_t, std::string>> newest_;
  analyzer::LiveRun run_;
  std::vector<std::string> problems_;
};

}  // namespace stepscope::run_loading
