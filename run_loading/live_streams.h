// The streams of a run's folder (trace/stream), read again and again while the run grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/live/live_run.h"
#include "trace/base/expected.h"
#include "trace/stream/stream_file.h"

namespace stepscope::run_loading {

class LiveStreams {
 public:
  /// `folder` is that of the run or of its streams. Errors: the folder has no stream, or not yet.
  static base::Expected<LiveStreams> open(std::string const& folder);

  /// Reads what has come since, also of ranks that are new.
  void refresh();
  [[nodiscard]] analyzer::LiveRun const& run() const { return run_; }
  /// What could not be read, one sentence a file.
  [[nodiscard]] std::vector<std::string> const& problems() const { return problems_; }
  [[nodiscard]] std::string const& folder() const { return folder_; }

 private:
  explicit LiveStreams(std::string folder) : folder_(std::move(folder)) {}

  /// More records of a device are not looked at.
  static constexpr size_t kLastRecords = 2 * analyzer::LiveRun::kKept;
  struct Followed {
    explicit Followed(std::string path) : stream(std::move(path)) {}
    stream::GrowingStream stream;
    uint64_t damaged = 0;
    int64_t heard_ns = 0;  ///< when it grew, by the steady clock
  };
  void find_new();
  base::Expected<stream::StreamRecords> read_first(Followed& file);
  bool is_shown(std::string const& name, Followed const& file,
                stream::StreamRecords const& records);
  void read(std::string const& name, Followed& file);

  std::string folder_;
  std::map<std::string, Followed> files_;  ///< by name
  /// The newest process of each rank counts, where one was started again: its begin and file.
  std::map<int32_t, std::pair<int64_t, std::string>> newest_;
  analyzer::LiveRun run_;
  std::vector<std::string> problems_;
};

}  // namespace stepscope::run_loading
