#include "trace/import/open/non_trace_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "trace/base/files/mapped_file.h"
#include "trace/base/files/run_folder.h"
#include "trace/import/common/advice.h"
#include "trace/import/common/json/cursor.h"
#include "trace/import/formats/importers.h"
#include "trace/import/open/file_advice.h"

namespace stepscope::import {
namespace {

/// Whether a format's traces begin with this member. In text that is cut off the key may be
/// incomplete.
bool is_first_member(Importer const& importer, std::string_view key, bool is_whole) {
  std::string const wanted =
      " " + std::string(key.substr(0, importer.first_members.size())) + (is_whole ? " " : "");
  return importer.first_members.find(wanted) != std::string_view::npos;
}

/// Tells the rest of a trace from text that people write for themselves and that is no JSON because
/// of comments or a comma too many.
bool begins_like_trace(std::string_view text) {
  size_t const quote = text.find('"');
  if (quote == std::string_view::npos) return false;
  size_t const end = text.find('"', quote + 1);
  std::string_view const key = text.substr(quote + 1, end - quote - 1);

  auto const all = importers();
  return std::any_of(all.begin(), all.end(), [&](Importer const& importer) {
    return is_first_member(importer, key, end != std::string_view::npos);
  });
}

bool has_events_member(std::string_view head) {
  auto const all = importers();
  return std::any_of(all.begin(), all.end(), [&](Importer const& importer) {
    return !importer.events_member.empty() &&
           head.find(importer.events_member) != std::string_view::npos;
  });
}

/// Text is what has no NUL byte, as for grep. JSON that is not closed is other text only if it does
/// not begin like a trace.
bool is_other_text(Input const& input, std::string_view name) {
  std::string_view const head = input.head();
  if (head.find('\0') != std::string_view::npos) return false;
  size_t const first = head.find_first_not_of(" \t\r\n");
  auto const all = input.plain();
  bool const is_json = name.ends_with(".json") && first != std::string_view::npos &&
                       (head[first] == '{' || head[first] == '[');
  if (!is_json || !all) return true;

  // Other JSON may be as long as the run, so it is not read to its end.
  if (!begins_like_trace(head.substr(first)) && !claims_to_be_trace(name)) return true;

  JsonCursor cursor(*all);
  cursor.value();
  return !cursor.failed();
}

/// Files that Stepscope writes into the folder of a run. The truth file of a synthetic run is as
/// long as its traces, so only the head is looked at.
bool is_our_file(Input const& input, std::string const& name) {
  size_t const first = input.head().find_first_not_of(" \t\r\n");
  bool const is_object = first != std::string_view::npos && input.head()[first] == '{';
  return base::is_run_file(name) && is_object && input.plain() &&
         !begins_like_trace(input.head()) && !has_events_member(input.head());
}

/// Whether a file that no importer knows is whole and of the kind that its name says.
bool is_intact(Input const& input, std::string_view name) {
  for (std::string_view const packed : {".gz", ".zst"}) {
    if (!name.ends_with(packed)) continue;
    if (input.compression() == Compression::kNone) return false;
    name.remove_suffix(packed.size());
  }
  if (input.head_damage()) return false;

  for (Importer const& importer : importers()) {
    bool const is_named = name.ends_with(importer.file_suffix) ||
                          (importer.has_name != nullptr && importer.has_name(name));
    if (is_named && importer.is_other_kind != nullptr) return importer.is_other_kind(input, name);
  }
  return is_other_text(input, name);
}

}  // namespace

bool is_other_file(std::string const& path) {
  if (is_self_describing(path)) return false;
  auto const mapped = base::MappedFile::open(path);
  if (!mapped) return false;
  if (mapped->bytes().empty()) return path.ends_with(".log");

  Input const input(mapped->bytes(), path);
  std::string const name = std::filesystem::path(path).filename().string();
  if (is_our_file(input, name)) return true;
  if (find_importer(input) != nullptr) return false;

  // Stepscope must report a file that may hold a rank of the run: a packed one, or a stand-in.
  bool const is_stand_in =
      input.head().find('\0') == std::string_view::npos && !name.ends_with(".log");
  if (auto const advice = advice_for_file(input);
      advice && advice->may_hold_a_trace && is_stand_in && claims_to_be_trace(name))
    return false;
  return is_intact(input, name);
}

std::optional<std::string> advice_for_folder(std::vector<std::string> const& files) {
  constexpr size_t kMostFiles = 64;

  std::optional<std::string> other;
  for (size_t i = 0; i < files.size() && i < kMostFiles; ++i) {
    auto const mapped = base::MappedFile::open(files[i]);
    if (!mapped || mapped->bytes().empty()) continue;
    Input const input(mapped->bytes(), files[i]);
    if (find_importer(input) != nullptr) continue;

    auto const advice = advice_for_file(input);
    if (!advice) continue;
    std::string sentence = files[i] + ": " + advice->sentence;
    if (advice->may_hold_a_trace) return sentence;
    if (!other) other = std::move(sentence);
  }
  return other;
}

}  // namespace stepscope::import
