// The folder of a search: what was asked for, its trials, its runs, and the best settings.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/capture/tune_plan.h"
#include "trace/base/expected.h"
#include "trace/base/files/output_folder.h"
#include "tune/study.h"
#include "tune/trial.h"

namespace stepscope::cli {

class TuneFolder {
 public:
  /// Whether a search is in the folder.
  static bool is_one(std::string const& folder);
  /// For a new search. Errors: there is one already, something else is in it, another command is
  /// working there, no permission.
  static base::Expected<TuneFolder> begin(std::string const& folder, TunePlan const& plan);
  /// For one that is there. `is_read_only`: it is not locked, and nothing may be written. Errors:
  /// no search, files that cannot be read, trials of another search.
  static base::Expected<TuneFolder> open(std::string const& folder, bool is_read_only = false);

  TuneFolder(TuneFolder&& other) noexcept;
  TuneFolder& operator=(TuneFolder&&) = delete;
  TuneFolder(TuneFolder const&) = delete;
  TuneFolder& operator=(TuneFolder const&) = delete;
  ~TuneFolder();

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] TunePlan const& plan() const { return plan_; }
  [[nodiscard]] std::vector<tune::Trial> const& trials() const { return trials_; }
  /// Whether the last line of the trials was cut: the trial goes on without it.
  [[nodiscard]] bool was_cut() const { return was_cut_; }

  /// Another budget than the search began with, for this command alone.
  void set_time(double seconds) { plan_.time_s = seconds; }
  /// The largest budget is that of commands that only read. Errors: the disk is full.
  base::Expected<void> keep_time(double seconds);
  /// Each trial is a line that is in the file when this returns. Errors: the disk is full.
  base::Expected<void> append(std::vector<tune::Trial> const& trials);
  /// best.toml: settings, command and what they save. Errors: the disk is full.
  base::Expected<void> write_best(tune::StudyAnswer const& answer) const;

  /// "runs/0003-02-base" below the folder.
  [[nodiscard]] std::string run_path(size_t trial, size_t pair, std::string const& side) const;
  [[nodiscard]] std::string log_path(std::string const& run) const { return run + ".log"; }

 private:
  TuneFolder() = default;
  base::Expected<void> open_trials(size_t whole_bytes);

  std::string path_;
  TunePlan plan_;
  std::vector<tune::Trial> trials_;
  bool was_cut_ = false;
  int trials_file_ = -1;
  std::vector<base::OutputFolder> lock_;  ///< one, or none where nothing is written
};

}  // namespace stepscope::cli
