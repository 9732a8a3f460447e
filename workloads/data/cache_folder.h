// Where generated data sets are kept from run to run.
#pragma once

#include <filesystem>

namespace stepscope::workloads {

/// $STEPSCOPE_CACHE, else $XDG_CACHE_HOME/stepscope, else ~/.cache/stepscope, else a folder for
/// temporary files. Not made.
std::filesystem::path cache_folder();

/// While one lives, no other process makes what belongs into `folder` (of the cache): the ranks of
/// a job, started together, make it once. Where the lock cannot be had, they all do, which is only
/// slower.
class CacheLock {
 public:
  explicit CacheLock(std::filesystem::path const& folder);
  ~CacheLock();
  CacheLock(CacheLock const&) = delete;
  CacheLock& operator=(CacheLock const&) = delete;

 private:
  int file_;
};

}  // namespace stepscope::workloads
