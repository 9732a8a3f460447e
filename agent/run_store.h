// Runs that were analyzed, kept for the next question. A run is read again when one of its files
// has changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/served_paths.h"
#include "query/database.h"
#include "run_loading/analyzed_files.h"
#include "trace/base/expected.h"

namespace stepscope::agent {

/// A run and its analysis, as `stepscope analyze` has them. Not thread-safe.
class OpenRun {
 public:
  OpenRun(std::string path, std::vector<FileStamp> files, run_loading::AnalyzedRun analyzed);

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] std::vector<FileStamp> const& files() const { return files_; }
  [[nodiscard]] run_loading::AnalyzedRun const& analyzed() const { return analyzed_; }
  [[nodiscard]] model::Run const& run() const { return analyzed_.run; }
  [[nodiscard]] analyzer::Analysis const& analysis() const { return analyzed_.analysis; }
  /// Whether all its events are in memory.
  [[nodiscard]] bool is_in_memory() const { return !analyzed_.read; }
  /// The run as a database. A large run is read whole, as `stepscope query` reads it. Errors: it
  /// does not fit into memory.
  base::Expected<query::Database*> database();
  /// Events in memory.
  [[nodiscard]] uint64_t events() const;

 private:
  std::string path_;
  std::vector<FileStamp> files_;
  run_loading::AnalyzedRun analyzed_;
  std::optional<model::Run> whole_;          ///< of a run that is not in memory
  std::optional<query::Database> database_;  ///< of one of the two, which it refers to
};

class RunStore {
 public:
  /// Both hold before a further run is read. At least the run in question stays.
  static constexpr size_t kMostRuns = 4;
  static constexpr uint64_t kMostEvents = 2 * run_loading::kMostEventsInMemory;

  explicit RunStore(ServedPaths served) : served_(std::move(served)) {}

  [[nodiscard]] ServedPaths const& served() const { return served_; }
  /// `run`: as ServedPaths::find() takes it. Errors: those of it, and those of
  /// run_loading::analyze_files().
  base::Expected<std::shared_ptr<OpenRun>> open(std::string const& run);
  /// How often files were read.
  [[nodiscard]] size_t reads() const { return reads_; }

 private:
  void drop_for(uint64_t events);

  ServedPaths served_;
  std::list<std::shared_ptr<OpenRun>> runs_;  ///< used last first
  size_t reads_ = 0;
};

}  // namespace stepscope::agent
