#include "trace/import/open/non_trace_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "trace/base/files/mapped_file.h"
#include "trace/base/files/run_folder.h"
#include "trace/base/protobuf_reader.h"
#include "trace/import/common/json/cursor.h"
#include "trace/import/formats/flight_recorder/flight_recorder_importer.h"
#include "trace/import/formats/flight_recorder/pickle.h"
#include "trace/import/formats/importers.h"
#include "trace/import/formats/nsys/database/database_image.h"
#include "trace/import/open/file_advice.h"

namespace stepscope::import {
namespace {

/// "Rank3.pb", "my_trace.sqlite.gz".
bool claims_to_be_trace(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.find("rank") != std::string::npos || name.find("trace") != std::string::npos;
}

/// Of another message type than a profile's. Its end is seen only where nothing needs to be unpacked.
bool is_whole_message(Input const& input) {
  base::ProtobufReader reader(input.plain().value_or(input.head()));
  base::ProtobufField field;
  bool is_cut = false;
  while (reader.next(field)) is_cut = field.is_cut;
  using End = base::ProtobufReader::End;
  return input.plain() ? !is_cut && reader.end() == End::kWhole : reader.end() != End::kBroken;
}

/// Of other objects than a dump's.
bool is_whole_pickle(Input const& input) {
  constexpr char kStop = '.';
  auto const all = input.plain();
  return is_pickle(input.head()) && (!all || all->back() == kStop);
}

/// Members that traces and dumps begin with, those of an object and of the first event of a list.
constexpr std::string_view kFirstMembers =
    " schemaVersion deviceProperties distributedInfo traceEvents traceName displayTimeUnit otherData cuda_runtime_version "
    "record_shapes with_flops profile_memory entries nccl_version pg_config ph cat ";

/// Of text that is no JSON: the rest of a trace, or what people write for themselves (comments, a comma too many)?
bool begins_like_trace(std::string_view text) {
  size_t const quote = text.find('"');
  if (quote == std::string_view::npos) return false;
  size_t const end = text.find('"', quote + 1);
  std::string const key(text.substr(quote + 1, std::min(end - quote - 1, kFirstMembers.size())));
  return kFirstMembers.find(" " + key + (end == std::string_view::npos ? "" : " ")) != std::string_view::npos;
}

/// As grep decides what is text; of JSON that is not closed it counts what it was.
bool is_other_text(Input const& input, std::string_view name) {
  std::string_view const head = input.head();
  if (head.find('\0') != std::string_view::npos) return false;
  size_t const first = head.find_first_not_of(" \t\r\n");
  auto const all = input.plain();
  bool const is_json = name.ends_with(".json") && first != std::string_view::npos && (head[first] == '{' || head[first] == '[');
  if (!is_json || !all) return true;
  // Other JSON may be as long as the run, and none of it needs to be looked at.
  if (!begins_like_trace(head.substr(first)) && !claims_to_be_trace(std::string(name))) return true;
  JsonCursor cursor(*all);
  cursor.value();
  return !cursor.failed();
}

/// What we write beside the traces of a run: the truth of a made one is as long as they are.
bool is_our_file(Input const& input, std::string const& name) {
  size_t const first = input.head().find_first_not_of(" \t\r\n");
  bool const is_object = first != std::string_view::npos && input.head()[first] == '{';
  return base::is_run_file(name) && is_object && input.plain() && !begins_like_trace(input.head()) &&
         input.head().find("\"traceEvents\"") == std::string_view::npos;
}

/// Nobody knows what is in it, but it is what its name says. Whether a database or a message is whole is seen in a part of it
/// alone: of those that claim to be traces it is not believed.
bool is_intact(Input const& input, std::string_view name) {
  std::string const whole_name(name);
  for (std::string_view const packed : {".gz", ".zst"}) {
    if (!name.ends_with(packed)) continue;
    if (input.compression() == Compression::kNone) return false;
    name.remove_suffix(packed.size());
  }
  if (input.head_damage()) return false;
  if (name.ends_with(".sqlite")) return !claims_to_be_trace(whole_name) && nsys::is_sqlite(input.head());
  if (name.ends_with(".pb")) return !claims_to_be_trace(whole_name) && is_whole_message(input);
  if (name.ends_with(".pkl") || name.ends_with(".pickle")) return is_whole_pickle(input);
  // "nccl_trace_rank_3": nothing else is called so.
  if (is_flight_recorder_name(name)) return false;
  return is_other_text(input, name);
}

}  // namespace

bool is_other_file(std::string const& path) {
  if (path.ends_with(base::kTraceSuffix)) return false;
  auto const mapped = base::MappedFile::open(path);
  if (!mapped) return false;
  if (mapped->bytes().empty()) return path.ends_with(".log");
  Input const input(mapped->bytes(), path);
  std::string const name = std::filesystem::path(path).filename().string();
  if (is_our_file(input, name)) return true;
  if (find_importer(input) != nullptr) return false;
  // What may hold a rank of the run, packed or in its place, is not passed over in silence.
  bool const is_stand_in = input.head().find('\0') == std::string_view::npos && !name.ends_with(".log");
  if (auto const advice = advice_for_file(input); advice && advice->may_hold_a_trace && is_stand_in && claims_to_be_trace(name))
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
