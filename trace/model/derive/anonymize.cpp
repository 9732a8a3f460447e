#include "trace/model/derive/anonymize.h"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

#include "trace/model/build/row_copy.h"
#include "trace/model/build/trace_builder.h"
#include "trace/model/derive/clock_drift.h"

namespace stepscope::model {
namespace {

/// Launches whose name has this are told apart: the ops of a graph share one launch (DEFINITIONS,
/// "Idle causes").
constexpr std::string_view kGraphLaunch = "GraphLaunch";
/// Names of devices that the host's cores execute begin so.
constexpr std::string_view kHostDevice = "host";
constexpr std::string_view kCores = "cores";

constexpr std::array<std::string_view, 4> kLibraries = {"cuda", "cu", "hip", "nccl"};
/// How the names of their calls go on.
constexpr std::array<std::string_view, 29> kWhatCallsDo = {
    "Launch", "Mem",    "Malloc", "Free",   "Stream", "Event",   "Graph",  "Device",
    "Ctx",    "Module", "Func",   "Occup",  "Thread", "Host",    "Get",    "Set",
    "Peek",   "Kernel", "Ipc",    "Driver", "Array",  "Pointer", "AllRed", "AllGath",
    "Reduce", "Broad",  "Send",   "Recv",   "Group"};
/// Words in the profiler's names of copies.
constexpr std::array<std::string_view, 15> kWordsOfCopies = {
    "Memcpy", "Memset", "HtoD",     "DtoH",   "DtoD",   "PtoP",    "HtoH",   "AtoA",
    "HtoA",   "AtoH",   "Pageable", "Pinned", "Device", "Managed", "Unknown"};

std::string_view class_name(OpClass op_class) {
  switch (op_class) {
    case OpClass::kCompute:
      return "compute";
    case OpClass::kComm:
      return "communication";
    case OpClass::kCopy:
      return "copy";
    case OpClass::kNone:
      break;
  }
  return "";
}

bool is_call(EventKind kind) {
  return kind == EventKind::kLaunch || kind == EventKind::kApi || kind == EventKind::kSync ||
         kind == EventKind::kMemory;
}

/// What the words of a text are, without what separates them.
template <class IsOfWord, class Is>
bool are_all_words(std::string_view text, IsOfWord is_of_word, Is is) {
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_of_word(text[end])) ++end;
    if (end > at && !is(text.substr(at, end - at))) return false;
    at = std::max(end, at + 1);
  }
  return true;
}

bool is_latin(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Whether a call is one of the runtime's, the driver's or the communication library's:
/// "cudaMemcpyAsync", "cuLaunchKernel", "hipMalloc". Such a name says nothing of the program, and
/// analyses read what the call does. The word behind the library's tells it from a program's own.
bool is_vendor_call(std::string_view name) {
  constexpr size_t kLongest = 64;
  auto const is_of_identifier = [](char c) {
    return is_latin(c) || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.size() > kLongest || !std::all_of(name.begin(), name.end(), is_of_identifier))
    return false;

  for (std::string_view const library : kLibraries)
    for (std::string_view const what : kWhatCallsDo)
      if (name.starts_with(library) && name.substr(library.size()).starts_with(what)) return true;
  return false;
}

/// Whether a copy's name is the profiler's own: "Memcpy HtoD (Pageable -> Device)".
bool is_vendor_copy(EventKind kind, std::string_view name) {
  if (kind != EventKind::kMemcpy && kind != EventKind::kMemset) return false;
  constexpr std::string_view kSigns = " ()[]->";
  auto const is_of_name = [&](char c) { return is_latin(c) || kSigns.find(c) != kSigns.npos; };
  auto const is_known = [](std::string_view word) {
    return std::find(kWordsOfCopies.begin(), kWordsOfCopies.end(), word) != kWordsOfCopies.end();
  };

  return std::all_of(name.begin(), name.end(), is_of_name) &&
         are_all_words(name, is_latin, is_known);
}

/// Names of events, each text and kind once.
class EventNames {
 public:
  EventNames(Trace const& trace, Pseudonyms& pseudonyms, TraceBuilder& builder)
      : trace_(trace), pseudonyms_(pseudonyms), builder_(builder) {}

  StringId of(uint32_t row) {
    EventKind const kind = trace_.kind(row);
    auto const op = kind == EventKind::kCollective ? trace_.detail<CollectiveDetail>(row).op
                                                   : CollectiveOp::kUnknown;
    auto const [known, is_new] = names_.try_emplace({trace_.columns().name[row].value, kind, op});
    if (is_new) known->second = builder_.intern(text(kind, op, trace_.name(row)));
    return known->second;
  }

 private:
  std::string text(EventKind kind, CollectiveOp op, std::string_view name) {
    if (is_range(kind)) return pseudonyms_.of_range(name);
    if ((is_call(kind) && is_vendor_call(name)) || is_vendor_copy(kind, name))
      return std::string(name);
    KindInfo const& info = kind_info(kind);
    std::string text = pseudonyms_.of(info.name, name);

    if (text.empty()) return text;
    if (kind == EventKind::kCollective) return fmt::format("{} ({})", text, to_string(op));
    if (info.op_class != OpClass::kNone)
      return fmt::format("{} ({})", text, class_name(info.op_class));
    if (kind == EventKind::kLaunch && name.find(kGraphLaunch) != std::string_view::npos)
      return fmt::format("{} ({})", text, kGraphLaunch);
    return text;
  }

  Trace const& trace_;
  Pseudonyms& pseudonyms_;
  TraceBuilder& builder_;
  std::map<std::tuple<uint32_t, EventKind, CollectiveOp>, StringId> names_;
};

TraceInfo anonymous_info(TraceInfo const& info, Pseudonyms& pseudonyms, int64_t epoch_shift_ns) {
  TraceInfo result;

  result.tool = "stepscope slice --anonymize";
  result.host = pseudonyms.of("host", info.host);
  result.process_id = info.rank;
  result.rank = info.rank;
  result.world_size = info.world_size;
  result.whole_steps = info.whole_steps;
  if (has_origin(info)) result.origin_epoch_ns = info.origin_epoch_ns + epoch_shift_ns;

  for (auto const& [key, value] : info.facts) {
    bool const is_number = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
      return c >= '0' && c <= '9';
    });
    if (key == kCores && is_number) result.facts.emplace_back(key, value);
  }
  return result;
}

Track anonymous_track(Track track, size_t number, Pseudonyms& pseudonyms) {
  switch (track.kind) {
    case TrackKind::kThread:
      track.name = pseudonyms.of("thread", track.name);
      track.id = static_cast<int64_t>(number) + 1;
      break;
    case TrackKind::kStream:  // its number is what synchronizations and stream waits refer to
      track.name = pseudonyms.of("stream", track.name);
      break;
    case TrackKind::kCounter:
      track.name = pseudonyms.of("counter", track.name);
      break;
  }

  return track;
}

Device anonymous_device(Device device, Pseudonyms& pseudonyms) {
  device.name =
      pseudonyms.of(device.name.starts_with(kHostDevice) ? "host-device" : "device", device.name);
  return device;
}

}  // namespace

std::string Pseudonyms::of(std::string_view sort, std::string_view text) {
  if (text.empty()) return {};
  std::string& name = names_[{std::string(sort), std::string(text)}];
  if (name.empty()) name = fmt::format("{}-{}", sort, ++counts_[std::string(sort)]);
  return name;
}

std::string Pseudonyms::of_range(std::string_view text) {
  Meaning const meaning = meaning_of_ ? meaning_of_(text) : Meaning();
  if (!meaning.instead.empty()) return meaning.instead;
  std::string const name = of("range", text);
  return meaning.besides.empty() ? name : fmt::format("{} ({})", name, meaning.besides);
}

Trace anonymize(Trace const& trace, Pseudonyms& pseudonyms, int64_t epoch_shift_ns) {
  TraceBuilder builder;
  builder.info() = anonymous_info(trace.info(), pseudonyms, epoch_shift_ns);
  builder.log() = log_before_building(trace);
  builder.log().notes.clear();

  for (Device const& device : trace.devices())
    builder.add_device(anonymous_device(device, pseudonyms));
  EventNames names(trace, pseudonyms, builder);

  for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
    TrackId const track = builder.add_track(anonymous_track(trace.tracks()[t], t, pseudonyms));

    Trace::Rows const rows = trace.rows_of(track);
    EventBatch batch;
    batch.reserve(rows.size());
    for (uint32_t row = rows.first; row < rows.last; ++row)
      append_row(trace, row, names.of(row), batch);
    builder.append(track, std::move(batch));
  }

  return std::move(builder).finish();
}

}  // namespace stepscope::model
