// The state of a live run as JSON and as gauges.
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/live/live_page.h"
#include "reports/openmetrics/openmetrics.h"

namespace stepscope::reports {
namespace {

using Json = nlohmann::ordered_json;

/// The JSON keys and label values of parts.
constexpr std::array<char const*, stream::kTimeParts> kPartKeys = {
    "compute", "exposed_communication", "exposed_copy", "input", "allocation", "idle"};

Json known(int64_t value) { return value < 0 ? Json() : Json(value); }

Json line_json(analyzer::LiveLine const& line) {
  Json json = {{"rank", line.key.rank},
               {"process_id", line.key.process_id},
               {"device", known(line.key.device)},
               {"device_name", line.device_name},
               {"host", line.host},
               {"step", line.step},
               {"has_ended", line.has_ended},
               {"ended_epoch_ns", line.ended_epoch_ns == 0 ? Json() : Json(line.ended_epoch_ns)},
               {"step_ns", line.now.typical_ns},
               {"spread_ns", line.now.spread_ns},
               {"silent_ns", line.silent_ns}};

  Json parts;
  for (size_t i = 0; i < kPartKeys.size(); ++i) parts[kPartKeys[i]] = line.now.parts[i];
  json["parts_ns"] = std::move(parts);
  json["communication_ns"] = line.now.comm_ns;
  json["input_ns"] = line.now.input_ns;
  json["late_ns"] = line.late_ns;
  json["peak_bytes"] = known(line.peak_bytes);
  json["capacity_bytes"] = line.capacity_bytes == 0 ? Json() : Json(line.capacity_bytes);
  json["power_w"] = line.power_mw < 0 ? Json() : Json(static_cast<double>(line.power_mw) / 1000);
  json["dropped"] = line.dropped;
  return json;
}

Json worth_json(analyzer::Worth const& worth) {
  return {{"kind", analyzer::to_string(worth.kind)},
          {"rank", worth.line ? Json(worth.line->rank) : Json()},
          {"device", worth.line ? known(worth.line->device) : Json()},
          {"first_step", worth.first_step},
          {"last_step", worth.last_step},
          {"cost_ns", worth.ns},
          {"typical_step_ns", worth.typical_ns},
          {"part", worth.part ? Json(kPartKeys[static_cast<size_t>(*worth.part)]) : Json()},
          {"bytes", worth.bytes},
          {"count", worth.count},
          {"sentence", worth_sentence(worth, true)}};
}

/// Families of gauges, one after the other.
class Gauges {
 public:
  void family(std::string_view name, std::string_view unit, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# TYPE {} gauge\n", name);
    if (!unit.empty()) text_ += fmt::format("# UNIT {} {}\n", name, unit);
    text_ += fmt::format("# HELP {} {}\n", name, help);
  }
  void sample(std::string const& labels, double value) {
    text_ += fmt::format("{}{{{}}} {}\n", name_, labels, value);
  }
  void seconds(std::string const& labels, int64_t ns) {
    sample(labels, static_cast<double>(ns) / 1e9);
  }
  std::string finish() && { return std::move(text_) + "# EOF\n"; }

 private:
  std::string text_, name_;
};

std::string labels_of(LiveState const& state, analyzer::LiveLine const& line) {
  return fmt::format("run={},rank=\"{}\",process=\"{}\",device=\"{}\",host={}",
                     openmetrics_label(state.run), line.key.rank, line.key.process_id,
                     line.key.device, openmetrics_label(line.host));
}

}  // namespace

std::string live_json(LiveState const& state) {
  Json json = {{"schema", 1}, {"run", state.run}, {"now_epoch_ns", state.now_epoch_ns}};
  json["lines"] = Json::array();
  for (auto const& line : state.lines) json["lines"].push_back(line_json(line));
  json["worth_a_window"] = Json::array();
  for (auto const& worth : state.worth) json["worth_a_window"].push_back(worth_json(worth));
  json["problems"] = state.problems;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string live_metrics(LiveState const& state) {
  Gauges gauges;
  auto const each = [&](auto const& sample) {
    for (auto const& line : state.lines) sample(line, labels_of(state, line));
  };

  gauges.family("stepscope_live_step", "", "The last training step that ended.");
  each([&](auto const& line, std::string const& labels) {
    gauges.sample(labels, static_cast<double>(line.step));
  });
  gauges.family("stepscope_live_step_end_timestamp_seconds", "seconds", "When it ended.");
  each([&](auto const& line, std::string const& labels) {
    if (line.ended_epoch_ns > 0) gauges.seconds(labels, line.ended_epoch_ns);
  });
  gauges.family("stepscope_live_step_seconds", "seconds", "Median length of the last 16 records.");
  each([&](auto const& line, std::string const& labels) {
    gauges.seconds(labels, line.now.typical_ns);
  });
  gauges.family("stepscope_live_step_part_seconds", "seconds",
                "Mean parts of a step; they sum to its mean length.");
  each([&](auto const& line, std::string const& labels) {
    for (size_t i = 0; i < kPartKeys.size(); ++i)
      gauges.seconds(fmt::format("{},part=\"{}\"", labels, kPartKeys[i]), line.now.parts[i]);
  });
  gauges.family("stepscope_live_late_seconds", "seconds", "How long others wait for it in a step.");
  each([&](auto const& line, std::string const& labels) { gauges.seconds(labels, line.late_ns); });
  gauges.family("stepscope_live_memory_peak_bytes", "bytes", "Most memory of the last step.");
  each([&](auto const& line, std::string const& labels) {
    if (line.peak_bytes >= 0) gauges.sample(labels, static_cast<double>(line.peak_bytes));
  });
  gauges.family("stepscope_live_power_watts", "watts", "Mean power in the last step.");
  each([&](auto const& line, std::string const& labels) {
    if (line.power_mw >= 0) gauges.sample(labels, static_cast<double>(line.power_mw) / 1000);
  });

  std::map<std::string, uint64_t> counts;
  for (auto const& worth : state.worth) ++counts[analyzer::to_string(worth.kind)];
  gauges.family("stepscope_live_worth_a_window", "", "Things that a recording would explain.");
  for (auto const& [kind, count] : counts)
    gauges.sample(fmt::format("run={},kind=\"{}\"", openmetrics_label(state.run), kind),
                  static_cast<double>(count));
  return std::move(gauges).finish();
}

}  // namespace stepscope::reports
