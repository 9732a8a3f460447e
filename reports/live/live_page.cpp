#include "reports/live/live_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/base/shell_word.h"

namespace stepscope::reports {
namespace {

using analyzer::LiveKey;
using analyzer::LiveLine;
using analyzer::Worth;
using analyzer::WorthKind;
using stream::TimePart;

/// Columns without a terminal.
constexpr int kUsualPage = 80;
/// Without a record for so many typical steps, and so long, a rank counts as silent.
constexpr int64_t kSilentSteps = 5, kSilentNs = 10'000'000'000;
/// Things worth a window that a page has room for.
constexpr size_t kMostWorth = 6, kMostProblems = 3;
constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

std::string count_of(int64_t number) { return base::format_count(static_cast<uint64_t>(number)); }

std::string share_text(int64_t part, int64_t whole) {
  if (whole <= 0) return "-";
  return fmt::format("{:.0f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

bool is_silent(LiveLine const& line) {
  return !line.has_ended &&
         line.silent_ns > std::max(kSilentNs, kSilentSteps * line.now.typical_ns);
}

bool has_several_devices(std::vector<LiveLine> const& lines) {
  std::map<std::pair<int32_t, int64_t>, int> devices;
  return std::any_of(lines.begin(), lines.end(), [&](LiveLine const& line) {
    return ++devices[{line.key.rank, line.key.process_id}] > 1;
  });
}

std::string name_of(LiveKey const& key, bool with_device) {
  std::string name = fmt::format("rank {}", key.rank);
  return with_device && key.device >= 0 ? name + fmt::format(" device {}", key.device) : name;
}

std::string memory_text(LiveLine const& line) {
  if (line.peak_bytes < 0) return "-";
  std::string text = base::format_bytes(static_cast<uint64_t>(line.peak_bytes));
  if (line.capacity_bytes > 0)
    text += fmt::format(" {:.0f} %", 100 * static_cast<double>(line.peak_bytes) /
                                         static_cast<double>(line.capacity_bytes));
  return text;
}

/// The ones that matter most: silent, late, slow ones; in the order of ranks.
std::vector<LiveLine const*> chosen_lines(LiveState const& state, size_t most) {
  std::vector<LiveLine const*> lines;
  for (LiveLine const& line : state.lines) lines.push_back(&line);
  if (most == 0 || lines.size() <= most) return lines;

  auto const weight = [&](LiveLine const* line) {
    return std::pair(is_silent(*line), std::pair(line->late_ns, line->now.typical_ns));
  };
  std::stable_sort(lines.begin(), lines.end(),
                   [&](LiveLine const* a, LiveLine const* b) { return weight(a) > weight(b); });
  lines.resize(most);
  std::sort(lines.begin(), lines.end(),
            [](LiveLine const* a, LiveLine const* b) { return a->key < b->key; });
  return lines;
}

std::string table(LiveState const& state, size_t most, Paint const& paint) {
  bool const with_device = has_several_devices(state.lines);
  // Most programs copy behind their compute, and 80 columns are few.
  bool const has_copies =
      std::any_of(state.lines.begin(), state.lines.end(), [](LiveLine const& line) {
        return 100 * line.now.parts[static_cast<size_t>(TimePart::kCopy)] > line.now.length_ns();
      });
  std::vector<std::vector<std::string>> rows = {
      {"rank", "step", "usual", "comp", "comm", "input", "idle", "late", "memory"}};
  if (has_copies) rows[0].insert(rows[0].begin() + 5, "copy");

  for (LiveLine const* line : chosen_lines(state, most)) {
    analyzer::LiveMeans const& now = line->now;
    int64_t const whole = now.length_ns();
    auto const part = [&](TimePart which) {
      return share_text(now.parts[static_cast<size_t>(which)], whole);
    };
    int64_t const idle = now.parts[static_cast<size_t>(TimePart::kIdle)] +
                         now.parts[static_cast<size_t>(TimePart::kAllocation)];
    std::string name = std::to_string(line->key.rank);
    if (with_device && line->key.device >= 0) name += fmt::format(":{}", line->key.device);
    rows.push_back({name, count_of(line->step), base::format_duration(now.typical_ns),
                    part(TimePart::kCompute), part(TimePart::kCommunication),
                    part(TimePart::kInput), share_text(idle, whole),
                    line->late_ns > 0 ? base::format_duration(line->late_ns) : "-",
                    memory_text(*line)});
    if (has_copies) rows.back().insert(rows.back().begin() + 5, part(TimePart::kCopy));
  }

  std::string text = aligned(rows, paint);
  if (size_t const shown = rows.size() - 1; shown < state.lines.size())
    text += paint.dim(wrapped(fmt::format("and {} more, which are not later and not slower (--all)",
                                          state.lines.size() - shown),
                              paint.width > 0 ? paint.width : kUsualPage, "", "  "));
  return text;
}

/// Processes that have not been heard of for long: they hang, or were killed.
std::string silent_text(LiveState const& state, int width) {
  std::set<int32_t> ranks;
  int64_t longest = 0;
  for (LiveLine const& line : state.lines)
    if (is_silent(line)) {
      ranks.insert(line.key.rank);
      longest = std::max(longest, line.silent_ns);
    }
  if (ranks.empty()) return {};

  constexpr size_t kMostNamed = 12;
  std::string names;
  for (int32_t const rank : ranks) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", rank);
    if (names.size() > 4 * kMostNamed) {
      names += ", …";
      break;
    }
  }
  return wrapped(fmt::format("Silent, for up to {}: {} ({})", base::format_duration(longest),
                             base::format_count(ranks.size(), "rank"), names),
                 width, "", "  ");
}

std::string strip_text(std::vector<analyzer::LiveRun::StripStep> strip, int width) {
  size_t const room = static_cast<size_t>(std::max(width, kLeastWidth)) - 1;
  if (strip.size() > room) strip.erase(strip.begin(), strip.end() - static_cast<ptrdiff_t>(room));
  if (strip.size() < 2) return {};

  int64_t longest = 1;
  for (auto const& step : strip) longest = std::max(longest, step.length_ns);
  std::string marks;
  for (auto const& step : strip) {
    auto const height = static_cast<size_t>(static_cast<double>(step.length_ns) /
                                            static_cast<double>(longest) * 7.999);
    marks += kBlocks[std::min<size_t>(height, 7)];
  }
  return wrapped(fmt::format("step length, from step {}, longest {}", count_of(strip.front().step),
                             base::format_duration(longest)),
                 std::max(width, kLeastWidth), "", "  ") +
         marks + "\n";
}

std::string headline(LiveState const& state) {
  std::set<std::string> hosts;
  std::set<std::pair<int32_t, int64_t>> processes;
  std::vector<int64_t> typical;
  int64_t step = 0, youngest = INT64_MAX;
  for (LiveLine const& line : state.lines) {
    hosts.insert(line.host);
    processes.insert({line.key.rank, line.key.process_id});
    typical.push_back(line.now.typical_ns);
    step = std::max(step, line.step);
    youngest = std::min(youngest, line.silent_ns);
  }
  std::nth_element(typical.begin(), typical.begin() + static_cast<ptrdiff_t>(typical.size() / 2),
                   typical.end());
  int64_t const length = typical[typical.size() / 2];

  std::string text = fmt::format("{}: {} on {}, step {}, {} a step", base::printable(state.run),
                                 base::format_count(processes.size(), "rank"),
                                 base::format_count(hosts.size(), "host"), count_of(step),
                                 base::format_duration(length));
  bool const has_ended = std::all_of(state.lines.begin(), state.lines.end(),
                                     [](LiveLine const& line) { return line.has_ended; });
  if (has_ended)
    text += ", ended";
  else if (youngest > kSilentNs)
    text += fmt::format("; last heard of {} ago", base::format_duration(youngest));
  return text;
}

std::string part_phrase(Worth const& worth) {
  if (!worth.part) return {};
  switch (*worth.part) {
    case TimePart::kCompute:
      return "compute takes longer";
    case TimePart::kCommunication:
      return "communication is exposed for longer";
    case TimePart::kCopy:
      return "copies are exposed for longer";
    case TimePart::kInput:
      return "it waits longer for data";
    case TimePart::kAllocation:
      return "it allocates for longer";
    case TimePart::kIdle:
      return "its host leaves the device idle for longer";
  }
  return {};
}

std::string where(Worth const& worth, bool with_device) {
  return worth.line ? name_of(*worth.line, with_device) : std::string("all ranks");
}

}  // namespace

std::string worth_sentence(Worth const& worth, bool with_device) {
  std::string const cost = base::format_duration(worth.ns);
  std::string const share = share_text(worth.ns, worth.typical_ns);
  std::string const who = where(worth, with_device);
  std::string const reason = worth.part ? ": " + who + ", " + part_phrase(worth) : std::string();

  switch (worth.kind) {
    case WorthKind::kSlower:
      return fmt::format("Since about step {} each step takes {} ({}) longer{}",
                         count_of(worth.first_step), cost, share, reason);
    case WorthKind::kSlowStep:
      if (worth.count > 1)
        return fmt::format("Steps {} to {} took {} longer together{}", count_of(worth.first_step),
                           count_of(worth.last_step), cost, reason);
      return fmt::format("Step {} took {} longer than the usual {}{}", count_of(worth.first_step),
                         cost, base::format_duration(worth.typical_ns), reason);
    case WorthKind::kLateRank:
      if (!worth.line)
        return fmt::format("In each step another rank comes last: the others wait {} ({}) for it",
                           cost, share);
      return fmt::format("The others wait {} ({}) a step for {}{}", cost, share, who,
                         worth.part ? ": " + part_phrase(worth) : std::string());

    case WorthKind::kInput:
      return fmt::format("Devices wait for data {} ({}) of each step: {}", cost, share, who);
    case WorthKind::kIdle:
      return fmt::format("Devices wait for the host {} ({}) of each step: {}", cost, share, who);
    case WorthKind::kAllocation:
      return fmt::format("Devices wait for allocations {} ({}) of each step: {}", cost, share, who);
    case WorthKind::kCopies:
      return fmt::format("Devices do nothing but copy for {} ({}) of each step: {}", cost, share,
                         who);

    case WorthKind::kMemoryGrows:
      return fmt::format("Memory grows from step to step, by {} in the last 96 records: {}",
                         base::format_bytes(static_cast<uint64_t>(worth.bytes)), who);
    case WorthKind::kMemoryFull:
      return fmt::format("Memory is nearly full, {} are left at the peak: {}",
                         base::format_bytes(static_cast<uint64_t>(worth.bytes)), who);
    case WorthKind::kFragmented:
      return fmt::format("Memory is fragmented, {} are held and not used, and it grows: {}",
                         base::format_bytes(static_cast<uint64_t>(worth.bytes)), who);
    case WorthKind::kLost:
      return fmt::format("{} could not be recorded: {}; record with a larger --buffer-mb",
                         base::format_count(worth.count, "event"), who);
  }
  return {};
}

LiveState live_state(std::string run, analyzer::LiveRun const& live, size_t strip,
                     int64_t now_epoch_ns) {
  return {std::move(run), live.lines(),     live.worth(), live.strip(strip), {},
          now_epoch_ns,   live.keeps_ring()};
}

std::string live_page(LiveState const& state, size_t most_lines, Paint const& paint) {
  int const width = paint.width > 0 ? std::max(paint.width, kLeastWidth) : kUsualPage;
  std::string text;
  if (state.lines.empty()) {
    text = fmt::format("{}: no step has ended yet\n", base::printable(state.run));
  } else {
    text = heading_text(headline(state), paint);
    text += strip_text(state.strip, width) + "\n" + table(state, most_lines, paint);
    text += silent_text(state, width);
  }

  if (!state.worth.empty()) {
    text += "\n" + paint.bold("Worth a window") + "\n";
    bool const with_device = has_several_devices(state.lines);
    for (size_t i = 0; i < std::min(state.worth.size(), kMostWorth); ++i)
      text += wrapped(worth_sentence(state.worth[i], with_device), width, "  ", "    ");
    if (state.worth.size() > kMostWorth)
      text += paint.dim(fmt::format("  and {} more (--json)\n", state.worth.size() - kMostWorth));
    if (state.keeps_ring)
      text += wrapped("What just happened is kept; write it with: stepscope trigger " +
                          base::shell_word(base::printable(state.run)),
                      width, "", "  ");
  }
  for (size_t i = 0; i < std::min(state.problems.size(), kMostProblems); ++i)
    text += wrapped(base::printable(state.problems[i]), width, "", "  ");
  if (state.problems.size() > kMostProblems)
    text += fmt::format("and {} more problems (--json)\n", state.problems.size() - kMostProblems);
  return text;
}

}  // namespace stepscope::reports
