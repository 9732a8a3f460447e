// Runs on different numbers of devices that were opened together: one of them is on the timeline,
// all are in the scaling panel. The others keep their analyzer::RunMeasurements only, which a
// scaling series is made of. They are read on another thread, one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/scaling/series.h"
#include "trace/base/expected.h"
#include "trace/import/open/run_series.h"
#include "viewer/comparison/shared_sample.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// For the thread of the frames, but while a run is opened, which has it for itself.
struct RunSeries {
  struct Member {
    std::string path;
    uint64_t devices = 0;  ///< that its files say; of another tool's traces: files
    SharedSample sample;   ///< null: not yet read
    std::string error;     ///< why it cannot be; hostile text
    [[nodiscard]] bool is_read() const { return sample != nullptr || !error.empty(); }
  };
  std::vector<Member> runs;  ///< by devices
  size_t shown = 0;          ///< on the timeline
  analyzer::ScalingOptions options;

  [[nodiscard]] std::string const& shown_path() const { return runs[shown].path; }
  /// How many are read, and whether all are.
  [[nodiscard]] size_t read() const;
  [[nodiscard]] bool is_read() const { return read() == runs.size(); }
  /// The next that has to be read: of the one on the timeline the opening or its analysis tells.
  /// None: nothing has to.
  [[nodiscard]] std::optional<size_t> next() const;
  /// What was read of a run.
  void take(std::string const& path, base::Expected<SharedSample> sample);
  /// What another series knows of the same runs.
  void take_samples(RunSeries const& other);
};

/// How paths are taken.
struct SeriesOptions {
  import::PathsAre paths_are = import::PathsAre::kFound;
  std::optional<uint64_t>
      devices;  ///< the run on so many is on the timeline; else the first on most
  analyzer::ScalingOptions scaling;
  std::shared_ptr<RunSeries> known;  ///< its `shown` is opened, whatever the paths
};

/// The series that paths are; null: they are one run. Reads no events of our own traces. Errors:
/// those of find_runs(), no run on so many devices.
base::Expected<std::shared_ptr<RunSeries>> find_series(std::vector<std::string> const& paths,
                                                       SeriesOptions const& options);

/// Reads and analyzes a run of a series on another thread.
class SampleReading {
 public:
  /// Begins at once.
  explicit SampleReading(std::string path);
  /// Does not wait: what is still at work ends by itself, soon.
  ~SampleReading();
  SampleReading(SampleReading const&) = delete;
  SampleReading& operator=(SampleReading const&) = delete;

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] bool is_done() const;
  /// Waits until it is done.
  void finish() const;
  /// Only once, when it is done. Errors: those of reading.
  base::Expected<SharedSample> take();

 private:
  struct Shared;
  std::string path_;
  std::shared_ptr<Shared> shared_;  ///< with the thread, which outlives a reading that was given up
};

/// What a run is to a series. `path`: its name there.
SharedSample named_sample(analyzer::RunMeasurements sample, std::string const& path);
/// Reads what is not yet read, in the time that it takes.
void finish_reading(RunSeries& series);
/// The panel of a series in front, with room for its charts. Does nothing for a run that was opened
/// alone.
void show_series(Scene const& scene, ViewState& state);

}  // namespace stepscope::viewer
