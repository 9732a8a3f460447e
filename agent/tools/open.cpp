// open: which runs there are, and what one of them holds.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "agent/tools/code_text.h"
#include "agent/tools/doubts.h"
#include "agent/tools/tools.h"
#include "reports/markdown/escape.h"
#include "reports/words/labels.h"
#include "trace/base/format.h"

namespace stepscope::agent {
namespace {

namespace fs = std::filesystem;
using reports::markdown_escape;

constexpr size_t kMostListedPaths = 200, kMostListedRanks = 64, kLongestPath = 4096;

constexpr std::array kOpenArguments = {
    Argument{"run", ArgumentType::kText, false,
             "the path of a trace file or a run folder; without it, the served paths are listed"}};

constexpr std::string_view kOpenSchema = R"({
  "type": "object",
  "properties": {
    "served": {"type": "array", "items": {"type": "string"}},
    "entries": {"type": "array", "items": {"type": "string"}},
    "run": {"type": "string"}, "name": {"type": "string"},
    "formats": {"type": "array", "items": {"type": "string"}},
    "rank_count": {"type": "integer"}, "device_count": {"type": "integer"},
    "ranks": {"type": "array", "items": {"type": "object"}},
    "steps": {"type": "object"}, "length_ns": {"type": "integer"},
    "notes": {"type": "array", "items": {"type": "string"}}
  }
})";

/// What lies directly in the served folders: a run is one of these, or in one of these.
std::vector<std::string> entries_of(ServedPaths const& served) {
  std::vector<std::string> entries;
  for (fs::path const& root : served.roots()) {
    std::error_code error;
    for (fs::directory_iterator it(root, error), end;
         !error && it != end && entries.size() < kMostListedPaths; it.increment(error)) {
      std::string const name = it->path().filename().string();
      if (!name.starts_with('.')) entries.push_back(base::printable(it->path().string()));
    }
  }

  std::sort(entries.begin(), entries.end());
  return entries;
}

Answer list_paths(ServedPaths const& served) {
  std::vector<std::string> roots;
  for (fs::path const& root : served.roots()) roots.push_back(base::printable(root.string()));
  std::vector<std::string> const entries = entries_of(served);

  std::string text =
      "Served paths. A run is a trace file or a folder of the traces of one job.\n\n";
  for (std::string const& root : roots) text += fmt::format("- {}\n", in_code(root, kLongestPath));
  if (!entries.empty()) text += "\nIn them:\n\n";
  for (std::string const& entry : entries)
    text += fmt::format("- {}\n", in_code(entry, kLongestPath));
  if (entries.size() == kMostListedPaths) text += "- … and more\n";
  return {std::move(text), {{"served", roots}, {"entries", entries}}};
}

OrderedJson steps_json(analyzer::Analysis const& analysis) {
  std::set<int64_t> numbers, warmups;
  for (analyzer::StepStats const& step : analysis.steps)
    (step.warmup ? warmups : numbers).insert(step.step);
  std::set<int64_t> all = numbers;
  all.insert(warmups.begin(), warmups.end());

  return {{"count", all.size()},
          {"warmup", all.size() - numbers.size()},
          {"first", all.empty() ? OrderedJson() : OrderedJson(*all.begin())},
          {"last", all.empty() ? OrderedJson() : OrderedJson(*all.rbegin())},
          {"source", reports::step_source_label(analysis)}};
}

OrderedJson ranks_of(OpenRun const& run) {
  std::map<int32_t, size_t> devices;
  for (analyzer::DeviceStats const& device : run.analysis().devices)
    ++devices[device.ref.rank_index];

  OrderedJson ranks = OrderedJson::array();
  for (size_t i = 0; i < std::min(run.run().ranks.size(), kMostListedRanks); ++i) {
    model::RankTrace const& rank = run.run().ranks[i];
    model::TraceInfo const& info = rank.trace.info();
    ranks.push_back({{"rank", info.rank},
                     {"process", info.process_id},
                     {"host", base::printable(info.host)},
                     {"format", base::printable(info.tool)},
                     {"file", base::printable(rank.file)},
                     {"devices", devices[static_cast<int32_t>(i)]},
                     {"events", rank.trace.whole_event_count()}});
  }
  return ranks;
}

std::string run_markdown(OrderedJson const& data, model::Run const& run) {
  OrderedJson const& steps = data["steps"];
  std::set<std::string> hosts;
  for (model::RankTrace const& rank : run.ranks) hosts.insert(rank.trace.info().host);
  std::string formats;
  for (OrderedJson const& format : data["formats"])
    formats += (formats.empty() ? "" : ", ") + markdown_escape(format.get<std::string>(), 200);

  std::string text = fmt::format("## {}\n\n- {} on {}, {}\n- recorded by: {}\n- length: {}\n",
                                 markdown_escape(run.name, 200),
                                 base::format_count(data["rank_count"].get<uint64_t>(), "rank"),
                                 base::format_count(hosts.size(), "host"),
                                 base::format_count(data["device_count"].get<uint64_t>(), "device"),
                                 formats, base::format_duration(data["length_ns"].get<int64_t>()));

  uint64_t const count = steps["count"].get<uint64_t>();
  if (count == 0) return text + fmt::format("- steps: {}\n", steps["source"].get<std::string>());
  return text + fmt::format("- steps: {} ({} to {}), {} left out as warm-up; {}\n", count,
                            steps["first"].get<int64_t>(), steps["last"].get<int64_t>(),
                            steps["warmup"].get<uint64_t>(), steps["source"].get<std::string>());
}

std::string ranks_markdown(OrderedJson const& ranks, size_t all) {
  std::string text = "\n| rank | process | host | devices | events |\n|---:|---:|---|---:|---:|\n";
  for (OrderedJson const& rank : ranks)
    text += fmt::format(
        "| {} | {} | {} | {} | {} |\n", rank["rank"].get<int64_t>(), rank["process"].get<int64_t>(),
        markdown_escape(rank["host"].get<std::string>(), 100), rank["devices"].get<uint64_t>(),
        base::format_count(rank["events"].get<uint64_t>()));
  if (ranks.size() < all) text += fmt::format("\n… and {} more processes.\n", all - ranks.size());
  return text;
}

base::Expected<Answer> answer_open(Question const& question) {
  if (!question.arguments.has("run")) return list_paths(question.runs.served());
  auto const opened = question.runs.open(question.arguments.text("run"));
  if (!opened) return base::fail_with(opened);

  OpenRun const& run = **opened;
  std::set<std::string> formats;
  for (model::RankTrace const& rank : run.run().ranks)
    formats.insert(base::printable(rank.trace.info().tool));
  std::vector<std::string> const doubts = doubts_of(run);

  OrderedJson data = {{"run", base::printable(run.path())},
                      {"name", base::printable(run.run().name)},
                      {"formats", formats},
                      {"rank_count", reports::count_ranks(run.run())},
                      {"device_count", reports::count_devices(run.run(), run.analysis())},
                      {"steps", steps_json(run.analysis())},
                      {"length_ns", reports::run_range(run.run()).length()},
                      {"ranks", ranks_of(run)},
                      {"notes", doubts}};
  std::string text = run_markdown(data, run.run()) +
                     ranks_markdown(data["ranks"], run.run().ranks.size()) +
                     doubts_markdown(doubts);
  return Answer{std::move(text), std::move(data)};
}

}  // namespace

Tool open_tool() {
  return {"open",
          "Open a run",
          "Lists the served paths, or what one run holds: ranks, devices, steps, which tool "
          "recorded it, and what the recording lacks. Ask this first.",
          kOpenArguments,
          kOpenSchema,
          answer_open};
}

}  // namespace stepscope::agent
