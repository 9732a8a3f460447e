#include "trace/import/other_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "trace/base/mapped_file.h"
#include "trace/base/protobuf_reader.h"
#include "trace/base/run_folder.h"
#include "trace/import/flight_recorder/pickle.h"
#include "trace/import/importers.h"
#include "trace/import/json/cursor.h"
#include "trace/import/nsys/database_image.h"

namespace stepscope::import {
namespace {

/// "Rank3.json", "my_trace.json.gz". Not "train_rank3.log": most logs of ranks are text for people.
bool claims_to_be_trace(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name.ends_with(".log")) return false;
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

/// As grep decides what is text; JSON has to be closed, too.
bool is_whole_text(Input const& input, bool is_json) {
  std::string_view const head = input.head();
  if (head.find('\0') != std::string_view::npos) return false;
  size_t const first = head.find_first_not_of(" \t\r\n");
  auto const all = input.plain();
  if (!is_json || !all || first == std::string_view::npos || (head[first] != '{' && head[first] != '[')) return true;
  JsonCursor cursor(*all);
  cursor.value();
  return !cursor.failed();
}

/// Nobody knows what is in it, but it is what its name says.
bool is_intact(Input const& input, std::string_view name) {
  for (std::string_view const packed : {".gz", ".zst"}) {
    if (!name.ends_with(packed)) continue;
    if (input.compression() == Compression::kNone) return false;
    name.remove_suffix(packed.size());
  }
  if (input.head_damage()) return false;
  if (name.ends_with(".sqlite")) return nsys::is_sqlite(input.head());
  if (name.ends_with(".pb")) return is_whole_message(input);
  if (name.ends_with(".pkl") || name.ends_with(".pickle")) return is_whole_pickle(input);
  return is_whole_text(input, name.ends_with(".json"));
}

}  // namespace

bool is_other_file(std::string const& path) {
  if (path.ends_with(base::kTraceSuffix)) return false;
  auto const mapped = base::MappedFile::open(path);
  if (!mapped) return false;
  if (mapped->bytes().empty()) return path.ends_with(".log");
  Input const input(mapped->bytes(), path);
  std::string const name = std::filesystem::path(path).filename().string();
  return find_importer(input) == nullptr && !claims_to_be_trace(name) && is_intact(input, name);
}

}  // namespace stepscope::import
