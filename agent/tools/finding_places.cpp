#include "agent/tools/finding_places.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent/tools/code_text.h"
#include "agent/tools/row_collector.h"
#include "analyzer/metrics/steps/run_summary.h"
#include "reports/words/labels.h"
#include "reports/words/run_notes.h"
#include "trace/base/format.h"

namespace stepscope::agent {
namespace {

using Place = analyzer::Finding::Evidence;

constexpr size_t kMostEvents = 3;

/// Steps whose period the place touches, on its own device if it has one.
std::vector<int64_t> steps_at(OpenRun const& run, Place const& place) {
  std::set<int64_t> steps;
  for (analyzer::StepPeriod const& period : analyzer::step_periods(run.analysis())) {
    analyzer::DeviceRef const& ref = period.step->ref;
    bool const is_here =
        ref.rank_index == place.ref.rank_index &&
        (place.ref.device == analyzer::kHostDevice || ref.device == place.ref.device);
    if (is_here && period.when.begin < place.when.end && place.when.begin < period.when.end)
      steps.insert(period.step->step);
  }

  return {steps.begin(), steps.end()};
}

/// Up to kMostPlaces of the evidence, the longest first: of several in the same steps of a device
/// only one, as long as there are others.
std::vector<size_t> places_of_different_steps(OpenRun const& run,
                                              analyzer::Finding const& finding) {
  std::vector<size_t> first, again;
  std::set<std::pair<analyzer::DeviceRef, std::vector<int64_t>>> seen;
  for (size_t i = 0; i < finding.evidence.size(); ++i) {
    Place const& place = finding.evidence[i];
    bool const is_new = seen.emplace(place.ref, steps_at(run, place)).second;
    (is_new ? first : again).push_back(i);
  }

  first.insert(first.end(), again.begin(), again.end());
  first.resize(std::min(first.size(), kMostPlaces));
  std::sort(first.begin(), first.end());
  return first;
}

/// What the finding names: empty where it names nothing.
struct Subject {
  std::string name;
  bool is_of_host = false;  ///< a call or a range: it is on a thread, not on the place's device
};

Subject subject_of(analyzer::Finding const& finding) {
  for (std::string_view const role : {"kernel", "host_op"})
    for (auto const& [its_role, name] : finding.subjects)
      if (its_role == role) return {name, role == "host_op"};
  return {};
}

std::string quoted_for_sql(std::string_view text) {
  std::string quoted = "'";
  for (char const sign : text) quoted += sign == '\'' ? std::string("''") : std::string(1, sign);
  return quoted + "'";
}

/// The events that the finding names come first, then work of devices; among them those whose begin
/// and end are nearest to the place's.
std::string events_sql(OpenRun const& run, Subject const& subject, Place const& place) {
  model::TraceInfo const& info =
      run.run().ranks[static_cast<size_t>(place.ref.rank_index)].trace.info();
  std::string where = fmt::format("rank = {} and process = {}", info.rank, info.process_id);
  if (place.track)
    where += fmt::format(" and track = {}", *place.track);
  else if (place.ref.device != analyzer::kHostDevice && !subject.is_of_host)
    where += fmt::format(" and device = {}", place.ref.device);

  std::string const named =
      subject.name.empty() ? "" : fmt::format("name is not {}, ", quoted_for_sql(subject.name));
  return fmt::format(
      "select id, name, kind, start_ns, dur_ns from events where {} and start_ns < {} and end_ns > "
      "{} order by {}class is null, abs(start_ns - {}) + abs(end_ns - {}), id limit {}",
      where, std::max(place.when.end, place.when.begin + 1), place.when.begin, named,
      place.when.begin, place.when.end, kMostEvents);
}

/// Null where they cannot be read.
OrderedJson events_at(OpenRun& run, std::string const& sql) {
  if (!run.is_in_memory()) return nullptr;
  auto const database = run.database();
  RowCollector rows(kMostEvents);
  if (!database || !(*database)->run(sql, rows)) return nullptr;

  OrderedJson events = OrderedJson::array();
  for (OrderedJson const& row : rows.rows())
    events.push_back({{"id", row[0]},
                      {"name", row[1]},
                      {"kind", row[2]},
                      {"start_ns", row[3]},
                      {"dur_ns", row[4]}});
  return events;
}

std::string quoted_for_shell(std::string const& text) {
  std::string quoted = "'";
  for (char const sign : text) quoted += sign == '\'' ? std::string("'\\''") : std::string(1, sign);
  return quoted + "'";
}

}  // namespace

OrderedJson places_json(OpenRun& run, analyzer::Finding const& finding,
                        OrderedJson const& evidence) {
  Subject const subject = subject_of(finding);
  OrderedJson places = OrderedJson::array();

  for (size_t const i : places_of_different_steps(run, finding)) {
    Place const& place = finding.evidence[i];
    std::string const sql = events_sql(run, subject, place);
    OrderedJson one = evidence[i];
    one["place"] = i + 1;
    one["steps"] = steps_at(run, place);
    one["events"] = events_at(run, sql);
    one["events_sql"] = sql;
    places.push_back(std::move(one));
  }
  return places;
}

std::string places_markdown(OpenRun const& run, OrderedJson const& places) {
  int64_t const begin = reports::run_range(run.run()).begin;
  std::string text;

  for (OrderedJson const& place : places) {
    text += fmt::format("   - place {}: {} on rank {}", place["place"].get<size_t>(),
                        reports::format_range(place["begin_ns"].get<int64_t>() - begin,
                                              place["end_ns"].get<int64_t>() - begin),
                        place["rank"].get<int64_t>());
    if (!place["device"].is_null())
      text += fmt::format(", device {}", place["device"].get<int64_t>());
    if (!place["track"].is_null())
      text += fmt::format(", track {}", in_code(place["track"].get<std::string>(), 80));
    if (!place["steps"].empty())
      text += ", step " + reports::number_list(place["steps"].get<std::vector<int64_t>>(), 4);

    if (!place["events"].is_null())
      for (OrderedJson const& event : place["events"])
        text += fmt::format(
            "; event {} ({})", event["id"].dump(),
            event["name"].is_null() ? "no name" : in_code(event["name"].get<std::string>(), 80));
    text += "\n";
  }

  return text;
}

std::string view_command(OpenRun const& run, Place const& place) {
  model::Interval const range = reports::run_range(run.run());
  int64_t const length = std::max<int64_t>(place.when.length(), 1000);
  int64_t const begin = std::max<int64_t>(place.when.begin - range.begin - length, 0);
  int64_t const end = std::max(begin + 1, place.when.end - range.begin + length);
  return fmt::format("stepscope view {} --time {}ns:{}ns", quoted_for_shell(run.path()), begin,
                     end);
}

}  // namespace stepscope::agent
