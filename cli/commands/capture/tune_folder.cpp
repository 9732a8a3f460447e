#include "cli/commands/capture/tune_folder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "trace/base/files/mapped_file.h"
#include "trace/base/files/output_file.h"
#include "trace/base/format.h"
#include "tune/command_line.h"
#include "tune/trial_log.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;

std::string plan_path(std::string const& folder) { return folder + "/study.json"; }
std::string trials_path(std::string const& folder) { return folder + "/trials.jsonl"; }

std::string_view text_in(base::MappedFile const& file) {
  return {reinterpret_cast<char const*>(file.bytes().data()), file.bytes().size()};
}

/// A basic string of TOML: JSON's escapes are among its own.
std::string toml_string(std::string const& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

base::Expected<void> write_all(int file, std::string_view text, std::string const& path) {
  while (!text.empty()) {
    ssize_t const written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return base::fail("{}: cannot be written ({})", base::printable(path), std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace

TuneFolder::TuneFolder(TuneFolder&& other) noexcept
    : path_(std::move(other.path_)),
      plan_(std::move(other.plan_)),
      trials_(std::move(other.trials_)),
      was_cut_(other.was_cut_),
      trials_file_(std::exchange(other.trials_file_, -1)),
      lock_(std::move(other.lock_)) {}

TuneFolder::~TuneFolder() {
  if (trials_file_ >= 0) ::close(trials_file_);
}

bool TuneFolder::is_one(std::string const& folder) {
  std::error_code error;
  return fs::exists(plan_path(folder), error);
}

base::Expected<TuneFolder> TuneFolder::begin(std::string const& folder, TunePlan const& plan) {
  std::string const shown = base::printable(folder);
  if (is_one(folder))
    return base::fail(
        "{}: holds a search already, go on with it (stepscope tune {} --resume) or "
        "choose another folder with -o",
        shown, shown);
  auto lock = base::OutputFolder::take(folder);
  if (!lock) return base::fail_with(lock);
  if (base::has_content(folder))
    return base::fail("{}: is not empty, choose another folder with -o", shown);

  TuneFolder made;
  made.path_ = folder;
  made.plan_ = plan;
  made.lock_.push_back(std::move(*lock));
  if (auto const written = base::write_file_atomically(plan_path(folder), plan_text(plan));
      !written)
    return base::fail_with(written);
  if (auto const opened = made.open_trials(0); !opened) return base::fail_with(opened);
  return made;
}

base::Expected<TuneFolder> TuneFolder::open(std::string const& folder, bool is_read_only) {
  TuneFolder found;
  found.path_ = folder;
  std::error_code error;
  if (!is_one(folder) && fs::exists(trials_path(folder), error))
    return base::fail("{}: the file is missing beside trials.jsonl, restore it",
                      base::printable(plan_path(folder)));
  if (!is_one(folder))
    return base::fail("{}: holds no search, begin one with stepscope tune WORKLOAD or --space",
                      base::printable(folder));
  if (!is_read_only) {
    auto lock = base::OutputFolder::take(folder);
    if (!lock) return base::fail_with(lock);
    found.lock_.push_back(std::move(*lock));
  }

  auto const plan_file = base::MappedFile::open(plan_path(folder));
  if (!plan_file) return base::fail_with(plan_file);
  auto plan = parse_plan(text_in(*plan_file), plan_path(folder));
  if (!plan) return base::fail_with(plan);
  found.plan_ = std::move(*plan);

  size_t whole_bytes = 0;
  if (auto const file = base::MappedFile::open(trials_path(folder))) {
    auto log = tune::parse_trial_log(text_in(*file), trials_path(folder), found.plan_.space,
                                     fingerprint_of_plan(found.plan_));
    if (!log) return base::fail_with(log);
    found.trials_ = std::move(log->trials);
    found.was_cut_ = log->is_cut;
    whole_bytes = log->whole_bytes;
  }

  if (is_read_only) return found;
  if (auto const opened = found.open_trials(whole_bytes); !opened) return base::fail_with(opened);
  return found;
}

base::Expected<void> TuneFolder::open_trials(size_t whole_bytes) {
  std::string const path = trials_path(path_);
  trials_file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0666);
  bool const is_open =
      trials_file_ >= 0 && ::ftruncate(trials_file_, static_cast<off_t>(whole_bytes)) == 0;
  if (!is_open)
    return base::fail("{}: cannot be written ({})", base::printable(path), std::strerror(errno));

  std::error_code error;
  fs::create_directories(path_ + "/runs", error);
  if (error)
    return base::fail("{}/runs: cannot be made ({})", base::printable(path_), error.message());
  if (whole_bytes > 0) return {};
  return write_all(trials_file_, tune::log_header(fingerprint_of_plan(plan_)), path);
}

base::Expected<void> TuneFolder::keep_time(double seconds) {
  if (seconds <= plan_.time_s) return {};
  set_time(seconds);
  return base::write_file_atomically(plan_path(path_), plan_text(plan_));
}

base::Expected<void> TuneFolder::append(std::vector<tune::Trial> const& trials) {
  for (tune::Trial const& trial : trials)
    if (auto const written =
            write_all(trials_file_, tune::trial_line(plan_.space, trial), trials_path(path_));
        !written)
      return written;
  return {};
}

base::Expected<void> TuneFolder::write_best(tune::StudyAnswer const& answer) const {
  tune::CommandLine const command = tune::command_for(plan_.space, plan_.words, answer.best);
  bool const is_confirmed = answer.outcome == tune::StudyOutcome::kBetter;
  std::string text = fmt::format(
      "# The best settings that stepscope tune accepted.\nconfirmed = {}\n", is_confirmed);
  text += fmt::format("command = {}\n", toml_string(tune::shell_text(command)));
  if (answer.saving)
    text += fmt::format("saving = {:.6f}\nlow = {:.6f}\nhigh = {:.6f}\n", answer.saving->saving,
                        answer.saving->low, answer.saving->high);

  text += "\n[settings]\n";
  for (size_t k = 0; k < answer.best.size(); ++k)
    text += fmt::format("{} = {}\n", plan_.space.knobs[k].name, toml_string(answer.best[k]));
  return base::write_file_atomically(path_ + "/best.toml", text);
}

std::string TuneFolder::run_path(size_t trial, size_t pair, std::string const& side) const {
  return fmt::format("{}/runs/{:04}-{:02}-{}", path_, trial, pair + 1, side);
}

}  // namespace stepscope::cli
