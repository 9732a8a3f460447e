#include "viewer/session/view_state_store.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "trace/base/files/output_file.h"
#include "trace/base/format.h"

namespace stepscope::viewer {
namespace {

namespace fs = std::filesystem;

/// Panels take their sizes in the first frames: a person did not change them.
constexpr int kFirstFrames = 3;
/// A drag changes every frame: what is written once it rests is enough.
constexpr std::chrono::seconds kRest{1};

std::string whole_path(std::string const& run) {
  std::error_code error;
  fs::path const path = fs::weakly_canonical(run, error);
  fs::path const clean = (error ? fs::path(run) : path).lexically_normal();
  return (clean.has_filename() ? clean : clean.parent_path()).string();
}

/// FNV-1a, 64 bits: the same on every machine.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 14695981039346656037ULL;
  for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

std::optional<fs::file_time_type> written_at(std::string const& file) {
  if (file.empty()) return std::nullopt;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  auto const time = fs::last_write_time(file, error);
  return error ? std::nullopt : std::optional(time);
}

base::Expected<SavedView> read_view(std::string const& file) {
  std::error_code error;
  auto const size = fs::file_size(file, error);
  if (error) return base::fail("{}: cannot be read ({})", base::printable(file), error.message());
  if (size > kMostViewBytes) return base::fail("{}: larger than any view", base::printable(file));
  std::ifstream in(file, std::ios::binary);
  std::string const text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.good() && !in.eof()) return base::fail("{}: cannot be read", base::printable(file));
  return parse_saved_view(text, base::printable(file));
}

}  // namespace

std::string sidecar_beside(std::string const& run) {
  std::error_code error;
  if (fs::is_directory(run, error)) return (fs::path(run) / ".stepscope-view.json").string();
  return run + ".view.json";
}

std::string sidecar_in_state(std::string const& run, std::string const& state_folder) {
  if (state_folder.empty()) return {};
  std::string const path = whole_path(run);
  std::string name = fs::path(path).filename().string().substr(0, 60);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.')
      c = '_';
  return (fs::path(state_folder) / "views" / fmt::format("{}-{:016x}.json", name, hash_of(path)))
      .string();
}

std::optional<SavedView> ViewStateStore::open(std::string const& run) {
  close();
  run_ = run;

  std::string const beside = sidecar_beside(run);
  std::string const in_state = sidecar_in_state(run, state_folder_);
  auto const beside_time = written_at(beside);
  auto const state_time = written_at(in_state);
  is_beside_ = beside_time.has_value();

  if (!beside_time && !state_time) return std::nullopt;
  file_ = !beside_time || (state_time && *state_time > *beside_time) ? in_state : beside;

  auto saved = read_view(file_);
  if (saved) return std::move(*saved);
  notice_ = fmt::format(
      "The view that was kept cannot be used, {}. The file stays as it is until you change "
      "something.",
      saved.error().message);
  return std::nullopt;
}

void ViewStateStore::close() {
  run_.clear();
  file_.clear();
  is_beside_ = false;
  notice_.clear();
  frames_ = 0;
  changed_.reset();
  said_where_ = false;
}

void ViewStateStore::look_at(Scene const& scene, ViewState const& state) {
  if (run_.empty()) return;

  if (frames_ < kFirstFrames) {
    ++frames_;
    last_ = kept_part(state);
    return;
  }

  if (!same_view(last_, state)) {
    last_ = kept_part(state);
    changed_ = Clock::now();
  }

  if (changed_ && Clock::now() - *changed_ >= kRest) write(scene, state);
}

void ViewStateStore::adopt(ViewState const& state) { last_ = kept_part(state); }

void ViewStateStore::flush(Scene const& scene, ViewState const& state) {
  if (run_.empty() || frames_ < kFirstFrames) return;
  if (changed_ || !same_view(last_, state)) write(scene, state);
}

bool ViewStateStore::write_to(std::string const& file, std::string const& text) {
  file_.clear();
  if (file.empty()) return false;
  std::error_code error;
  fs::create_directories(fs::path(file).parent_path(), error);
  // A run folder of somebody else may hold a link of that name.
  if (!base::write_file_atomically(file, text, base::PartialFile::Links::kReplace)) return false;
  file_ = file;
  return true;
}

void ViewStateStore::write(Scene const& scene, ViewState const& state) {
  changed_.reset();
  last_ = kept_part(state);
  std::string const text = saved_view_text(saved_view(scene, state));
  bool const wants_beside = travels_ || is_beside_;
  if (wants_beside && write_to(sidecar_beside(run_), text)) return;
  bool const is_kept = write_to(sidecar_in_state(run_, state_folder_), text);
  bool const is_expected = is_kept && !wants_beside;
  if (is_expected || std::exchange(said_where_, true)) return;

  if (is_kept)
    notice_ = fmt::format("Stepscope cannot write next to the run: view and notes are kept in {}",
                          base::printable(file_));
  else
    notice_ =
        "View and notes are not kept: no folder of the user can be written to. --keep-view-beside "
        "keeps them with the run.";
}

}  // namespace stepscope::viewer
