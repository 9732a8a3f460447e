#include "cli/partial_run.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "trace/base/run_folder.h"
#include "trace/file/writer.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;
using base::Expected;

}  // namespace

bool is_source(std::string const& output, std::vector<std::string> const& runs) {
  std::error_code error;
  fs::path const target = fs::weakly_canonical(output, error);
  for (std::string const& run : runs) {
    fs::path const source = fs::weakly_canonical(run, error);
    if (source == target || source.parent_path() == target) return true;
  }
  return false;
}

PartialRun::~PartialRun() {
  if (finished_) return;
  std::error_code ignored;
  for (std::string const& name : names_) fs::remove(path_of(name), ignored);
  if (made_folder_) fs::remove(folder_, ignored);
}

Expected<void> PartialRun::add(model::Trace trace) {
  events_ += trace.event_count();
  waiting_.push_back(std::move(trace));
  if (events_ == 0) return {};  // a process that did nothing then is a part of the run, but no reason to make one
  auto written = write_waiting();
  has_failed_ = !written;
  return written;
}

Expected<void> PartialRun::write_waiting() {
  if (names_.empty()) {
    auto const made = base::prepare_run_folder(folder_, force_);
    if (!made) return base::fail_with(made);
    made_folder_ = *made;
  }
  for (model::Trace const& next : std::exchange(waiting_, {}))
    if (auto const written = write(next); !written) return written;
  return {};
}

std::string PartialRun::path_of(std::string const& name) const {
  return fmt::format("{}/{}{}", folder_, name, base::kTraceSuffix);
}

Expected<void> PartialRun::write(model::Trace const& trace) {
  std::string name = fmt::format("rank-{}", trace.info().rank);
  for (int copy = 2; names_.contains(name); ++copy) name = fmt::format("rank-{}-{}", trace.info().rank, copy);
  names_.insert(name);
  return file::write_trace(trace, path_of(name));
}

}  // namespace stepscope::cli
