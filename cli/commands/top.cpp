// stepscope top RUN: what takes the most time, by name: kernels, all device operations, ranges or
// calls of the host. A question to the run's database, with a table of its own.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/pager.h"
#include "query/output.h"
#include "query/part.h"
#include "reports/text/layout.h"
#include "trace/base/format.h"

namespace stepscope::cli {
namespace {

struct TopOptions {
  std::vector<std::string> runs;
  std::string of = "kernels", by = "total", format = "table", steps;
  uint64_t limit = 15;
  std::optional<int32_t> rank;
  bool is_one_run = false;
};

/// What is listed: the condition on rows of the table events.
struct Subject {
  char const* name;
  char const* condition;
};
constexpr std::array kSubjects = {
    Subject{"kernels", "kind IN ('kernel', 'collective')"},
    Subject{"ops", "class IS NOT NULL"},
    Subject{"ranges", "kind IN ('range', 'annotated_range', 'phase', 'input_wait')"},
    Subject{"calls", "kind IN ('launch', 'api', 'sync', 'memory', 'collective_call')"},
};

std::vector<std::string> subject_names() {
  std::vector<std::string> names;
  for (Subject const& subject : kSubjects) names.emplace_back(subject.name);
  return names;
}

/// Subject and order are of our own lists: no text of the user is in the SQL.
std::string question(TopOptions const& options) {
  auto const subject = std::find_if(kSubjects.begin(), kSubjects.end(),
                                    [&](Subject const& each) { return options.of == each.name; });
  return fmt::format(
      "SELECT name, count(*) AS count, sum(dur_ns) AS total, avg(dur_ns) AS mean, "
      "max(dur_ns) AS longest, "
      "sum(dur_ns) * 1.0 / (SELECT max(1, sum(dur_ns)) FROM events WHERE {0}) AS share "
      "FROM events WHERE {0} GROUP BY name ORDER BY {1} DESC, name LIMIT {2}",
      subject->condition, options.by, options.limit);
}

double number_of(model::Cell const& cell) {
  return cell.type == model::Cell::Type::kReal ? cell.real() : static_cast<double>(cell.bits);
}

std::string time_of(model::Cell const& cell) {
  return base::format_duration(static_cast<int64_t>(number_of(cell)));
}

/// The answer as people read it, within the width of their terminal: names come last and are
/// shortened.
class TopTable final : public query::RowSink {
 public:
  void begin(std::span<std::string const> /*columns*/) override {
    numbers_.push_back({"total", "share", "count", "mean", "longest"});
    names_.emplace_back("name");
  }
  bool row(std::span<model::Cell const> cells) override {
    names_.emplace_back(cells[0].text);
    numbers_.push_back({time_of(cells[2]), base::format_share(number_of(cells[5])),
                        base::format_count(static_cast<uint64_t>(number_of(cells[1]))),
                        time_of(cells[3]), time_of(cells[4])});
    return true;
  }
  [[nodiscard]] bool is_empty() const { return names_.size() < 2; }
  [[nodiscard]] std::string text(int width) const {
    return reports::aligned_before_names(numbers_, names_, {use_color()}, width);
  }

 private:
  std::vector<std::vector<std::string>> numbers_;  ///< a heading, then a row each
  std::vector<std::string> names_;                 ///< of the same rows
};

/// CSV and JSON are those of `stepscope query`: times in ns.
base::Expected<void> write_answer(query::Database& database, TopOptions const& options) {
  std::string const sql = question(options);
  begin_paging();
  if (options.format != "table") {
    auto const writer = options.format == "csv" ? query::csv_writer(query::to_stream(stdout))
                                                : query::json_writer(query::to_stream(stdout));
    if (auto const rows = database.run(sql, *writer); !rows)
      return base::fail("top: {}", rows.error().message);
    return writer->finish();
  }

  TopTable table;
  if (auto const rows = database.run(sql, table); !rows)
    return base::fail("top: {}", rows.error().message);
  if (table.is_empty())
    std::printf(
        "stepscope: the run has no %s%s\n", options.of.c_str(),
        options.of == "kernels" ? "; --of ranges and --of calls list what the host did" : "");
  else
    std::fputs(table.text(terminal_width()).c_str(), stdout);
  return {};
}

/// The steps that a slice was made for, which analyze counts alone; none of a whole run.
std::optional<std::pair<int64_t, int64_t>> steps_of_slice(model::Run const& run) {
  std::optional<std::pair<int64_t, int64_t>> chosen;
  for (auto const& rank : run.ranks) {
    model::WholeSteps const& whole = rank.trace.info().whole_steps;
    std::pair const own(whole.chosen_first, whole.chosen_last);
    if (!whole.has_choice() || chosen.value_or(own) != own) return std::nullopt;
    chosen = own;
  }
  return chosen;
}

int top(TopOptions const& options) {
  query::Part part{.rank = options.rank};
  if (!options.steps.empty()) {
    auto const steps = parse_steps(options.steps);
    if (!steps) return report_error(steps.error());
    part.steps = *steps;
  }

  auto const run = open_run_and_warn(options.runs, options.is_one_run);
  if (!run) return report_error(run.error());
  bool const has_named_steps = part.steps.has_value();
  if (!has_named_steps) part.steps = steps_of_slice(*run);
  auto database = query::Database::open(*run, part);
  if (!has_named_steps && part.steps && (!database || !database->chosen_steps())) {
    part.steps.reset();
    database = query::Database::open(*run, part);
  }
  if (!database) return report_error({"top: " + database.error().message});
  if (auto const steps = database->chosen_steps()) warn_of_missing_steps(*part.steps, *steps);

  auto const written = write_answer(*database, options);
  return written ? kGood : report_error(written.error());
}

}  // namespace

Action add_top(CLI::App& app) {
  auto const options = std::make_shared<TopOptions>();
  app.footer(
      "Shares are of the total time of what is listed. Ranges and calls may lie within each other: "
      "their times then count twice. Kernels are those of communication, too: in SQL, "
      "kind IN ('kernel', 'collective'). The table shortens names; --format csv has them whole. "
      "stepscope query answers anything else.");

  app.add_option("RUN", options->runs, "trace files or a run folder")->required();
  app.add_option("--of", options->of, "kernels, ops (with copies and fills), ranges or calls")
      ->check(CLI::IsMember(subject_names()))
      ->capture_default_str();
  app.add_option("--by", options->by, "total, count, mean or longest")
      ->check(CLI::IsMember({"total", "count", "mean", "longest"}))
      ->capture_default_str();
  app.add_option("--limit", options->limit, "how many names")
      ->check(whole_number(1, INT64_MAX))
      ->capture_default_str();

  app.add_option("--steps", options->steps, "use only the steps first:last, as analyze does");
  app.add_option("--rank", options->rank, "use only this rank")->check(whole_number(0, INT32_MAX));
  app.add_option("--format", options->format, "table, csv or json")
      ->check(CLI::IsMember({"table", "csv", "json"}))
      ->capture_default_str();
  add_one_run_option(app, options->is_one_run);
  return [options] { return top(*options); };
}

}  // namespace stepscope::cli
