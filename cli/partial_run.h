// A run folder that is being written: nothing of it stays unless it becomes whole.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "trace/base/files/output_folder.h"
#include "trace/model/trace.h"

namespace stepscope::cli {

/// Whether writing to `output`, a file or a folder, could touch one of the files or folders that
/// are read.
bool is_source(std::string const& output, std::vector<std::string> const& runs);

/// The run that is written, one process after the other, as rank-N.stepscope. The folder is made
/// and locked when the first event comes; an old run in it stays until finish(). Without finish()
/// nothing of the new one stays.
class PartialRun {
 public:
  PartialRun(std::string folder, bool force) : folder_(std::move(folder)), force_(force) {}
  PartialRun(PartialRun const&) = delete;
  PartialRun& operator=(PartialRun const&) = delete;

  /// `source`: where the trace comes from. Errors: the folder is taken (take_run_folder()), the
  /// disk is full. `is_rank_by_name`: TraceSource::is_rank_by_name().
  base::Expected<void> add(model::Trace trace, std::string source = "",
                           bool is_rank_by_name = false);
  /// Takes processes out again, by their place among those that were added. Errors: the disk fails.
  base::Expected<void> drop(std::set<size_t> const& places);
  /// When all traces were added: those that do not say their rank get that of their names, or those
  /// that are free, as when they are opened (import::ranks_of_names(), import::free_ranks()). Says
  /// whose rank is a guess, for people. Errors: the disk is full.
  base::Expected<std::vector<std::string>> number_ranks();
  /// The run takes its place. Errors: it cannot.
  base::Expected<void> finish();
  /// Whether add() failed: then nothing more can be added.
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  [[nodiscard]] uint64_t events() const { return events_; }
  [[nodiscard]] size_t ranks() const { return names_.size(); }

 private:
  struct Process {
    model::Trace trace;
    std::string source;
    bool is_rank_by_name;
  };
  /// A process whose file has no rank.
  struct Unnumbered {
    std::string name, source;
    int32_t guess;     ///< the rank that it was written with
    bool has_devices;  ///< it is no helper of a program alone
    bool is_by_name;   ///< the guess is the number in the file's name
    int32_t world_size;
  };
  /// A process that was written.
  struct Written {
    std::string name;
    int32_t rank;  ///< that it says; < 0: none
    uint64_t events;
  };
  [[nodiscard]] std::string path_of(std::string const& name) const;
  base::Expected<void> write_waiting();
  base::Expected<void> write_process(Process process);
  base::Expected<void> rename(std::string const& from, std::string const& to) const;
  [[nodiscard]] std::string free_name(int32_t rank) const;
  std::vector<std::string> take_ranks_of_names(std::vector<int32_t>& ranks);
  base::Expected<void> set_rank(Unnumbered const& part, int32_t rank);

  std::string folder_;
  bool force_, has_failed_ = false;
  std::optional<base::OutputFolder> output_;
  std::string staging_;  ///< where the files are written
  std::vector<Process> waiting_;
  std::set<std::string> names_;
  std::set<int32_t> known_ranks_;
  std::vector<Unnumbered> unnumbered_;
  std::vector<Written> written_;  ///< in the order of add()
  uint64_t events_ = 0;
};

}  // namespace stepscope::cli
