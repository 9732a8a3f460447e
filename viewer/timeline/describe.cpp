#include "viewer/timeline/describe.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>
#include <type_traits>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "viewer/event_store/event_store.h"
#include "viewer/widgets/text.h"

namespace stepscope::viewer {
namespace {

using model::EventKind;

std::string spaced(char const* key) { return words_of(key); }

/// Unknown or without a meaning for a person: empty.
std::string memory_op_text(model::MemoryOp op) {
  switch (op) {
    case model::MemoryOp::kAllocate:
      return "allocate";
    case model::MemoryOp::kFree:
      return "free";
    default:
      return "";
  }
}

/// A detail's value with its unit; empty = unknown, not shown.
template <class Member>
std::string value_text(std::string_view name, Member value) {
  if constexpr (std::is_enum_v<Member>) {
    if constexpr (std::is_same_v<Member, model::MemoryOp>) {
      return memory_op_text(value);
    } else {
      return static_cast<int>(value) == 0 && !std::is_same_v<Member, model::MemoryPurpose>
                 ? ""
                 : words_of(model::to_string(value));
    }

  } else if constexpr (std::is_floating_point_v<Member>) {
    if (name != "flops") return fmt::format("{:.6g}", value);
    return value > 0 ? format_flops(value) : "";

  } else if constexpr (std::is_signed_v<Member>) {
    return value < 0 ? "" : fmt::format("{}", value);

  } else if (name.ends_with("bytes")) {
    return value == 0
               ? ""
               : fmt::format("{} ({} B)", base::format_bytes(value), base::format_count(value));
  } else if (name.ends_with("_ns")) {
    return value == 0 ? "" : base::format_duration(static_cast<int64_t>(value));
  } else if (name == "plan") {
    return "";  // tells which calls belong together, nothing to a person
  } else if (name == "address") {
    return fmt::format("{:#x}", value);
  } else if (name == "pinned") {
    return value != 0 ? "yes" : "no";
  } else if (name == "communicator") {
    return value == 0 ? "" : fmt::format("{:#x}", value);
  } else {
    return value == 0 && name != "sequence" ? "" : base::format_count(value);
  }
}

template <class Row>
void add_details(Row const& detail, Properties& into) {
  auto const add = [&](auto const& field) {
    std::string value = value_text(field.name, detail.*(field.member));
    if (!value.empty()) into.emplace_back(spaced(field.name), std::move(value));
  };

  std::apply([&](auto const&... fields) { (add(fields), ...); }, model::detail_fields<Row>);
}

std::string number_text(model::NumberType type, uint64_t bits) {
  switch (type) {
    case model::NumberType::kNone:
      break;
    case model::NumberType::kUnsigned:
      return fmt::format("{}", bits);
    case model::NumberType::kSigned:
      return fmt::format("{}", static_cast<int64_t>(bits));
    case model::NumberType::kReal:
      return fmt::format("{:.6g}", std::bit_cast<double>(bits));
  }
  return "";
}

void add_range_details(model::RangeDetail const& detail, Properties& into) {
  auto const add = [&](char const* name, std::string value) {
    if (!value.empty()) into.emplace_back(name, std::move(value));
  };
  add("category", detail.category == 0 ? "" : fmt::format("{}", detail.category));
  add("payload", number_text(detail.payload_type, detail.payload));
  add("bytes", value_text("bytes", detail.bytes));
  add("communicator", value_text("communicator", detail.communicator));
  add("colour", detail.color == 0 ? "" : fmt::format("#{:06x}", detail.color & 0xFFFFFFU));
}

void add_all_details(model::Trace const& trace, uint32_t row, Properties& into) {
  trace.visit_detail(row, [&]<class Row>(Row const& detail) {
    if constexpr (std::is_same_v<Row, model::RangeDetail>)
      add_range_details(detail, into);
    else
      add_details(detail, into);
  });
}

/// Rates that follow from an event's own numbers.
void add_rates(model::Trace const& trace, uint32_t row, Properties& into) {
  double const seconds = static_cast<double>(trace.columns().dur[row]) / 1e9;
  if (seconds <= 0) return;

  if (trace.kind(row) == EventKind::kMemcpy) {
    auto const bytes = trace.detail<model::CopyDetail>(row).bytes;
    if (bytes > 0)
      into.emplace_back("rate", base::format_bandwidth(static_cast<double>(bytes) / seconds));
  } else if (trace.kind(row) == EventKind::kKernel) {
    auto const& detail = trace.detail<model::KernelDetail>(row);
    if (detail.flops > 0) into.emplace_back("rate", format_flops(detail.flops / seconds) + "/s");
    if (detail.bytes > 0)
      into.emplace_back("traffic",
                        base::format_bandwidth(static_cast<double>(detail.bytes) / seconds));
  }
}

void add_link(model::Trace const& trace, uint32_t row, Properties& into) {
  auto const link = trace.columns().link[row];
  if (!link.valid()) return;
  bool const is_launch = trace.kind(row) == EventKind::kLaunch;
  uint32_t const launch = is_launch ? row : link.value;
  uint32_t const op = is_launch ? link.value : row;
  into.emplace_back(is_launch ? "starts" : "launched by", printable_name(trace.name(link.value)));
  into.emplace_back("from launch to start",
                    base::format_duration(trace.start(op) - trace.end(launch)));
}

void add_collective(Scene const& scene, Selection const& selection, Properties& into) {
  auto const* facts = scene.collective_of(selection);
  if (facts == nullptr) return;

  into.emplace_back("transfer", base::format_duration(facts->transfer_ns));
  into.emplace_back("arrival skew", base::format_duration(facts->skew_ns));
  if (facts->busbw_gbps)
    into.emplace_back("bus bandwidth", base::format_bandwidth(*facts->busbw_gbps * 1e9));

  for (size_t i = 0; i < facts->participants.size(); ++i) {
    auto const& participant = facts->participants[i];
    std::string value =
        fmt::format("{}, waited {}", base::format_duration(participant.when.length()),
                    base::format_duration(participant.wait_ns));
    if (static_cast<int32_t>(i) == facts->last_participant && facts->participants.size() > 1)
      value += ", came last";
    into.emplace_back(describe(scene, participant.ref), std::move(value));
  }
}

}  // namespace

std::string format_flops(double flops) {
  for (auto const& [unit, size] :
       {std::pair{"T", 1e12}, std::pair{"G", 1e9}, std::pair{"M", 1e6}, std::pair{"k", 1e3}})
    if (flops >= size) return fmt::format("{:.3g} {}FLOP", flops / size, unit);
  return fmt::format("{:.0f} FLOP", flops);
}

std::string words_of(std::string_view key) {
  std::string result(key);
  std::replace(result.begin(), result.end(), '_', ' ');
  return result;
}

std::string describe(Scene const& scene, analyzer::DeviceRef ref) {
  bool const known =
      ref.rank_index >= 0 && static_cast<size_t>(ref.rank_index) < scene.run.ranks.size();
  int32_t const rank =
      known ? scene.trace(static_cast<uint32_t>(ref.rank_index)).info().rank : ref.rank_index;
  return ref.device < 0 ? fmt::format("rank {}", rank)
                        : fmt::format("rank {} · device {}", rank, ref.device);
}

namespace {

/// What is known of an event that is not in memory (yet).
Properties place_properties(Scene const& scene, Selection const& selection) {
  Properties result;
  model::Interval const when = scene.when(selection);
  result.emplace_back("duration", base::format_duration(when.length()));
  result.emplace_back("start", format_time(static_cast<double>(when.begin), 1));
  result.emplace_back("end", format_time(static_cast<double>(when.end), 1));

  auto const node = scene.node_of(selection);
  if (node)
    result.emplace_back("track",
                        fmt::format("rank {} · {}", scene.trace(selection.rank).info().rank,
                                    scene.nodes[*node].label));
  return result;
}

}  // namespace

Properties event_properties(Scene const& scene, Selection const& selection) {
  auto const at = scene.find(selection);
  if (!at) return place_properties(scene, selection);

  auto const& trace = *at->trace;
  uint32_t const row = at->row;
  auto const& columns = trace.columns();
  model::Interval const when = scene.when(selection);

  Properties result;
  result.emplace_back("kind", words_of(model::kind_info(trace.kind(row)).name));
  result.emplace_back("duration",
                      when.length() >= 1000
                          ? fmt::format("{} ({} ns)", base::format_duration(when.length()),
                                        base::format_count(static_cast<uint64_t>(when.length())))
                          : base::format_duration(when.length()));
  result.emplace_back("start", format_time(static_cast<double>(when.begin), 1));
  result.emplace_back("end", format_time(static_cast<double>(when.end), 1));

  std::string where = fmt::format("rank {}", trace.info().rank);
  model::Track const& track = trace.track(row);
  if (track.device >= 0) where += fmt::format(" · device {}", track.device);
  result.emplace_back("track", where + " · " +
                                   (track.name.empty() ? fmt::format("{}", track.id)
                                                       : printable_name(track.name, 80)));
  if (columns.depth[row] > 0) result.emplace_back("depth", fmt::format("{}", columns.depth[row]));

  add_all_details(trace, row, result);
  add_rates(trace, row, result);
  add_link(trace, row, result);
  if (trace.kind(row) == EventKind::kCollective) add_collective(scene, selection, result);
  if (columns.correlation[row] != 0)
    result.emplace_back("correlation", fmt::format("{}", columns.correlation[row]));
  return result;
}

Properties gap_properties(Scene const& scene, uint32_t index) {
  analyzer::IdleGap const gap = scene.analysis.gaps[index];
  Properties result;
  result.emplace_back("cause", words_of(analyzer::to_string(gap.cause)));
  result.emplace_back("duration", base::format_duration(gap.when.length()));
  result.emplace_back("start", format_time(static_cast<double>(scene.to_view(gap.when.begin)), 1));
  result.emplace_back("where", describe(scene, gap.ref));
  if (gap.ref.rank_index < 0) return result;

  GapNames const names = scene.store->gap_names(scene, gap);
  if (names.host_op) result.emplace_back("host op", printable_name(*names.host_op));
  if (names.ended_by) result.emplace_back("ended by", printable_name(*names.ended_by));
  return result;
}

std::vector<std::string> describe_segment(Scene const& scene, Item const& item) {
  Node const& node = scene.nodes[item.node];
  std::optional<uint32_t> const gap = item.gap_index();
  bool const is_counted = !node.segments.empty();
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}{}", item.idle ? "Idle: " : "Busy: ", paint_name(item.paint)));
  if (item.idle && !scene.has_analysis()) lines.back() = "Idle; why is not analyzed yet";
  if (!is_counted && !gap) {
    lines.emplace_back("most of this pixel's time");
    return lines;
  }

  if (item.count > 1) {
    lines.push_back(is_counted ? fmt::format("the longest of {} pieces in this pixel",
                                             base::format_count(item.count))
                               : "the longest of this pixel");
  }
  model::Interval const when =
      gap ? scene.when({Selection::What::kGap, node.rank, *gap})
          : model::Interval{node.segments[item.index].begin, node.segments[item.index].end};
  lines.push_back(base::format_duration(when.length()));

  if (!gap) return lines;
  for (auto const& [name, value] : gap_properties(scene, *gap))
    if (name == "host op" || name == "ended by") lines.push_back(name + ": " + value);
  return lines;
}

std::vector<std::string> describe_item(Scene const& scene, Row const& row, Item const& item) {
  std::vector<std::string> lines;
  if (item.kind == ItemKind::kSegment) return describe_segment(scene, item);

  if (item.kind == ItemKind::kDensity && !row.has_events()) {
    lines.push_back(item.count == 0
                        ? "longer events"
                        : fmt::format("about {}", base::format_count(item.count, "event")));
  } else if (item.kind == ItemKind::kDensity) {
    lines.push_back(fmt::format("{} events", base::format_count(item.count)));
  }
  if (item.kind == ItemKind::kDensity) {
    lines.push_back(fmt::format("{} of this pixel's time is covered",
                                base::format_share(static_cast<double>(item.fill))));
    lines.emplace_back("double-click to zoom in");
    return lines;
  }

  auto const& trace = row.trace();
  lines.push_back(printable_name(trace.name(item.index), 240));
  if (lines.back().empty()) lines.back() = "(no name)";
  lines.push_back(base::format_duration(trace.columns().dur[item.index]) + "  " +
                  words_of(model::kind_info(trace.kind(item.index)).name));

  Properties details;
  add_all_details(trace, item.index, details);
  add_rates(trace, item.index, details);
  for (size_t i = 0; i < details.size() && i < 4; ++i)
    lines.push_back(details[i].first + ": " + details[i].second);
  return lines;
}

std::string value_range(Curve const& curve, bool is_bytes) {
  auto const words = [&](double value) {
    constexpr double kMostBytes = 1e18;
    return is_bytes ? base::format_bytes(static_cast<uint64_t>(std::clamp(value, 0.0, kMostBytes)))
                    : fmt::format("{:.4g}", value);
  };
  if (!curve.range)
    return curve.highest > curve.lowest && std::isfinite(curve.highest)
               ? "max " + words(curve.highest)
               : std::string();

  auto const [least, most] = *curve.range;
  if (!std::isfinite(least) || !std::isfinite(most)) return {};
  std::string first = words(least);
  std::string const last = words(most);
  if (first == last) return last;

  // A unit that both have is written once.
  size_t const unit = last.rfind(' ');
  if (unit != std::string::npos && first.ends_with(last.substr(unit)))
    first.resize(first.size() - (last.size() - unit));
  return first + " – " + last;
}

std::string without_device(Scene const& scene, std::string_view needs) {
  bool const has_hosts = !scene.analysis.hosts.empty();
  return fmt::format("{} No device work was recorded in this run. {}", needs,
                     has_hosts ? "See \"Phases & pipelines\" for the time of its ranges and "
                                 "threads, \"Flame graph\" for what called what."
                               : "stepscope record writes down what the program's devices do.");
}

}  // namespace stepscope::viewer
