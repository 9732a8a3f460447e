#include "trace/import/open/separate_captures.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "trace/import/common/coarse_times.h"
#include "trace/import/common/numbers.h"
#include "trace/import/formats/importers.h"
#include "trace/model/derive/clock_drift.h"

namespace stepscope::import {
namespace {

namespace fs = std::filesystem;
using base::Expected;
using base::fail;

/// Unsynchronized clocks of hosts differ by seconds, and the ranks of one job are not all captured
/// in one instant.
constexpr int64_t kLeastGapNs = 60'000'000'000;
constexpr size_t kMostNamedFiles = 8;

/// The time of a recording since the epoch. Nothing where it is not known, or where a recording
/// ends when its rank does (dumps).
std::optional<model::Interval> span_of(RankSource const& rank) {
  model::TraceInfo const& info = rank.source.info();
  if (has_coarse_times(info) || is_dump(info) || !model::has_origin(info)) return std::nullopt;
  auto const counts = rank.source.event_counts();
  if (std::all_of(counts.begin(), counts.end(), [](uint64_t count) { return count == 0; }))
    return std::nullopt;
  model::Interval const range = rank.source.time_range();
  return model::Interval{info.origin_epoch_ns + range.begin, info.origin_epoch_ns + range.end};
}

/// The name of a file without the time that PyTorch puts before ".pt.trace.json": "node01_100".
std::string process_of_file(std::string const& path) {
  std::string name = fs::path(path).filename().string();
  size_t const end = name.find(".pt.trace.json");
  if (end == std::string::npos) return {};
  name.resize(end);
  size_t const dot = name.find_last_not_of("0123456789");
  if (dot != std::string::npos && name[dot] == '.' && dot + 1 < name.size()) name.resize(dot);
  return name;
}

/// The process and host of a trace, as far as it states them.
using Process = std::tuple<std::string, std::string, int64_t, int32_t>;
Process process_of(RankSource const& rank) {
  model::TraceInfo const& info = rank.source.info();
  return {info.host, process_of_file(rank.file), info.process_id, info.rank};
}
bool is_known(Process const& process) { return std::get<2>(process) > 0; }

/// Traces of one time.
struct Capture {
  model::Interval span;
  std::vector<size_t> members;  ///< of RunSources::ranks
  std::set<int32_t> ranks;      ///< that traces with devices state
  std::set<Process> processes;

  void add(RankSource const& rank, size_t number, model::Interval own) {
    span = members.empty()
               ? own
               : model::Interval{std::min(span.begin, own.begin), std::max(span.end, own.end)};
    members.push_back(number);
    if (rank.source.info().rank >= 0 && !rank.source.devices().empty())
      ranks.insert(rank.source.info().rank);
    processes.insert(process_of(rank));
  }
  void join(Capture const& other) {
    span.end = std::max(span.end, other.span.end);
    members.insert(members.end(), other.members.begin(), other.members.end());
    ranks.insert(other.ranks.begin(), other.ranks.end());
    processes.insert(other.processes.begin(), other.processes.end());
  }
  [[nodiscard]] bool shares_rank(Capture const& other) const {
    return std::any_of(ranks.begin(), ranks.end(),
                       [&](int32_t rank) { return other.ranks.contains(rank); });
  }
  /// Whether all processes of this capture are known and are in the other one.
  [[nodiscard]] bool is_window_of(Capture const& other) const {
    auto const is_there = [&](Process const& process) {
      return is_known(process) && other.processes.contains(process);
    };
    return std::all_of(processes.begin(), processes.end(), is_there);
  }
};

/// Groups of overlapping traces, by time.
std::vector<Capture> overlapping(RunSources const& run) {
  std::vector<std::pair<model::Interval, size_t>> spans;
  for (size_t r = 0; r < run.ranks.size(); ++r)
    if (auto const span = span_of(run.ranks[r])) spans.emplace_back(*span, r);
  std::sort(spans.begin(), spans.end(), [](auto const& a, auto const& b) {
    return std::tuple(a.first.begin, a.second) < std::tuple(b.first.begin, b.second);
  });

  std::vector<Capture> groups;
  for (auto const& [span, r] : spans) {
    if (groups.empty() || span.begin > groups.back().span.end) groups.emplace_back();
    groups.back().add(run.ranks[r], r, span);
  }
  return groups;
}

std::vector<Capture> find_captures(RunSources const& run) {
  std::vector<Capture> captures;
  for (Capture& group : overlapping(run)) {
    bool is_new = captures.empty();
    if (!is_new) {
      Capture const& before = captures.back();
      bool const is_apart =
          group.span.begin - before.span.end > kLeastGapNs || group.shares_rank(before);
      is_new = is_apart && !group.is_window_of(before) && !before.is_window_of(group);
    }

    if (is_new)
      captures.push_back(std::move(group));
    else
      captures.back().join(group);
  }
  return captures;
}

/// Such files in one folder may be one recording whose programs followed each other.
bool are_all_self_describing(RunSources const& run) {
  return std::all_of(run.ranks.begin(), run.ranks.end(),
                     [](RankSource const& rank) { return is_self_describing(rank.file); });
}

/// The stage of a server, from 0, that SGLang puts into a file's name: "ID-TP-0-EXTEND",
/// "ID-TP-0-DECODE". It profiles stages one after the other. −1 = no stage.
int stage_of(std::string const& path) {
  std::string const name = "-" + name_without_extensions(fs::path(path).filename().string()) + "-";
  constexpr std::array<std::string_view, 3> kStages = {"-extend-", "-prefill-", "-decode-"};
  for (size_t stage = 0; stage < kStages.size(); ++stage)
    if (name.find(kStages[stage]) != std::string::npos) return static_cast<int>(stage);
  return -1;
}

/// The time that a file's name begins with; else empty.
std::string time_of_name(std::string const& path) {
  std::string const name = name_without_extensions(fs::path(path).filename().string());
  auto const numbers = numbers_in(name);
  bool const has_time = !numbers.empty() && numbers.front().counts == NameCounts::kTime;
  return has_time ? name.substr(numbers.front().begin, numbers.front().end - numbers.front().begin)
                  : std::string();
}

/// Stages as captures, the newest last. Empty if a file names no stage.
std::vector<Capture> find_stages(RunSources const& run) {
  using Order = std::tuple<int64_t, std::string, int>;  // by clock, by name, by stage
  std::map<int, std::pair<Order, Capture>> stages;
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    int const stage = stage_of(run.ranks[r].file);
    if (stage < 0) return {};

    auto const span = span_of(run.ranks[r]);
    Order const order{span ? span->begin : 0, time_of_name(run.ranks[r].file), stage};
    auto& [latest, capture] = stages[stage];
    latest = std::max(latest, order);
    capture.add(run.ranks[r], r, span.value_or(model::Interval{}));
  }

  std::vector<std::pair<Order, Capture>> in_order;
  for (auto& [stage, capture] : stages) in_order.push_back(std::move(capture));
  std::sort(in_order.begin(), in_order.end(),
            [](auto const& a, auto const& b) { return a.first < b.first; });

  std::vector<Capture> captures;
  for (auto& [order, capture] : in_order) captures.push_back(std::move(capture));
  return captures;
}

std::string named_files(RunSources const& run, std::set<size_t> const& members) {
  std::set<std::string> names;
  for (size_t const r : members) names.insert(fs::path(run.ranks[r].file).filename().string());
  std::string text;
  size_t named = 0;
  for (std::string const& name : names) {
    if (named == kMostNamedFiles) return fmt::format("{} and {} more", text, names.size() - named);
    text += (named++ > 0 ? ", " : "") + name;
  }
  return text;
}

}  // namespace

Expected<void> separate_captures(RunSources& run, bool are_several_paths) {
  if (run.ranks.size() < 2 || (!are_several_paths && are_all_self_describing(run))) return {};
  std::vector<Capture> captures = find_captures(run);
  bool const are_stages = captures.size() < 2;
  if (are_stages) captures = find_stages(run);
  if (captures.size() < 2) return {};

  if (are_several_paths) {
    std::string const& first = run.ranks[captures.front().members.front()].file;
    std::string const& last = run.ranks[captures.back().members.front()].file;
    if (are_stages)
      return fail(
          "{} and {} are of different stages, so they are not ranks of one run: compare them with "
          "stepscope compare, or say --one-run to read all files as one run",
          first, last);
    return fail(
        "{} and {} do not overlap in time, so they are not ranks of one run: compare them with "
        "stepscope compare. Name each as a run of a series with stepscope report --series, or say "
        "--one-run to read all files as one run",
        first, last);
  }

  std::set<size_t> left_out;
  for (size_t c = 0; c + 1 < captures.size(); ++c)
    left_out.insert(captures[c].members.begin(), captures[c].members.end());
  run.notes.push_back(fmt::format(
      "the folder holds {} captures {}, the newest is opened; left out: {} (name their files to "
      "see them, or say --one-run to read all files as one run)",
      captures.size(), are_stages ? "of different stages" : "that do not overlap in time",
      named_files(run, left_out)));

  std::vector<RankSource> kept;
  for (size_t r = 0; r < run.ranks.size(); ++r)
    if (!left_out.contains(r)) kept.push_back(std::move(run.ranks[r]));
  run.ranks = std::move(kept);
  return {};
}

bool follow_each_other(std::vector<RankSource const*> const& sources) {
  std::vector<model::Interval> spans;
  for (RankSource const* const source : sources) {
    auto const span = span_of(*source);
    if (!span) return false;
    spans.push_back(*span);
  }

  std::sort(spans.begin(), spans.end(),
            [](auto const& a, auto const& b) { return a.begin < b.begin; });
  return std::adjacent_find(spans.begin(), spans.end(), [](auto const& a, auto const& b) {
           return b.begin <= a.end;
         }) == spans.end();
}

LaterWindows::LaterWindows(std::vector<RankSource*>& sources) {
  std::map<Process, std::vector<std::pair<model::Interval, RankSource*>>> of_processes;
  for (RankSource* const source : sources) {
    auto const span = span_of(*source);
    bool const is_window =
        span && is_known(process_of(*source)) && !is_self_describing(source->file);
    if (is_window) of_processes[process_of(*source)].emplace_back(*span, source);
  }

  std::set<RankSource const*> later;
  for (auto& of_process : of_processes) {
    auto& windows = of_process.second;
    std::sort(windows.begin(), windows.end(),
              [](auto const& a, auto const& b) { return a.first.begin < b.first.begin; });

    // Windows that overlap are of two processes: unnamed hosts may use the same process id.
    auto const overlap = [](auto const& a, auto const& b) { return a.first.end >= b.first.begin; };
    if (std::adjacent_find(windows.begin(), windows.end(), overlap) != windows.end()) continue;

    // The first window in the order of the files stands for all.
    RankSource* const first =
        *std::find_if(sources.begin(), sources.end(), [&](RankSource* const source) {
          return std::any_of(windows.begin(), windows.end(),
                             [&](auto const& window) { return window.second == source; });
        });
    for (auto const& window : windows) {
      if (window.second == first) continue;
      windows_[first].push_back(window.second);
      later.insert(window.second);
    }
  }
  std::erase_if(sources, [&](RankSource const* source) { return later.contains(source); });
}

std::vector<RankSource*> const& LaterWindows::of(RankSource const* first) const {
  static std::vector<RankSource*> const none;
  auto const found = windows_.find(first);
  return found == windows_.end() ? none : found->second;
}

}  // namespace stepscope::import
