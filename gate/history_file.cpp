#include "gate/history_file.h"

#include <cmath>

#include "analyzer/gate/kept_sample.h"
#include "gate/json_fields.h"
#include "trace/base/format.h"

namespace stepscope::gate {
namespace {

using analyzer::HistoryPoint;
using analyzer::StepPart;

constexpr std::string_view kHistoryKind = "stepscope history";

/// To 0.1 ns.
WriteJson history_time(double ns) { return file_number(std::round(ns * 10) / 10); }

std::string point_line(HistoryPoint const& point) {
  WriteJson parts = WriteJson::object();
  for (size_t p = 0; p < point.parts_ns.size(); ++p)
    if (point.parts_ns[p] != 0)
      parts[analyzer::to_string(static_cast<StepPart>(p))] = history_time(point.parts_ns[p]);

  WriteJson const json = {
      {"label", analyzer::kept_text(point.label)},
      {"device", analyzer::kept_text(point.device)},
      {"steps", point.steps},
      {"step_ns", history_time(point.step_ns)},
      {"peak_allocated_bytes",
       point.peak_allocated_bytes ? file_number(*point.peak_allocated_bytes) : WriteJson(nullptr)},
      {"parts_ns", parts}};

  return json.dump(-1, ' ', false, WriteJson::error_handler_t::replace);
}

HistoryPoint read_point(Fields json) {
  HistoryPoint point;
  point.label = json.text("label", analyzer::kMostKeptTextBytes);
  point.device = json.text("device", analyzer::kMostKeptTextBytes);
  point.steps = static_cast<uint64_t>(json.whole("steps", 0, INT64_MAX));
  point.step_ns = json.number("step_ns", 0, kMostFileNumber);
  if (json.has("peak_allocated_bytes"))
    point.peak_allocated_bytes = json.number("peak_allocated_bytes", 0, kMostFileNumber);

  auto parts = json.object("parts_ns");
  if (!parts) return point;

  for (std::string const& key : parts->keys()) {
    auto const part = analyzer::step_part_of(key);
    if (!part) {
      parts->fail(key.c_str(), "is no part of a step");
      break;
    }
    point.parts_ns[static_cast<size_t>(*part)] =
        parts->number(key.c_str(), -kMostFileNumber, kMostFileNumber);
  }

  return point;
}

}  // namespace

std::string history_text(History const& history) {
  size_t const first = history.points.size() - std::min(history.points.size(), kMostHistoryPoints);
  std::string lines;
  for (size_t i = first; i < history.points.size(); ++i)
    lines += (i == first ? "\n" : ",\n") + point_line(history.points[i]);
  WriteJson const name = base::valid_utf8(history.name, analyzer::kMostKeptTextBytes);
  return fmt::format("{{\"kind\":\"{}\",\n\"schema\":{},\n\"name\":{},\n\"runs\":[{}\n]}}\n",
                     kHistoryKind, kHistorySchema, name.dump(), lines);
}

base::Expected<History> parse_history(std::string_view text, std::string const& path) {
  auto const document = parse_document(text, path, kHistoryKind, kHistorySchema, kMostHistoryBytes);
  if (!document) return base::fail_with(document);

  std::optional<std::string> error;
  Fields fields(*document, {}, error);
  History history;
  history.name = fields.text("name", analyzer::kMostKeptTextBytes);

  for (Fields const& run : fields.objects("runs", kMostHistoryPoints)) {
    if (error) break;
    history.points.push_back(read_point(run));
  }

  if (error) return base::fail("{}: {}, restore the file or make it anew", path, *error);
  return history;
}

bool is_history(std::string_view begin) { return is_document(begin, kHistoryKind); }

}  // namespace stepscope::gate
