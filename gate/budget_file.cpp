#include "gate/budget_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "gate/toml.h"
#include "trace/base/format.h"

namespace stepscope::gate {
namespace {

using analyzer::Bound;
using analyzer::Budget;
using analyzer::FactUnit;
using base::Error;

constexpr size_t kMostShownBytes = 100;

std::string shown_text(std::string_view text) {
  return base::printable(base::valid_utf8(text, kMostShownBytes));
}

std::string_view trimmed(std::string_view text) {
  size_t const first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Takes the sign off the begin. None: there is no sign.
std::optional<Bound> take_bound(std::string_view& text) {
  // The longer sign comes first, since the shorter one is its prefix.
  for (Bound const bound : {Bound::kAtMost, Bound::kBelow, Bound::kAtLeast, Bound::kAbove}) {
    std::string_view const sign = analyzer::to_string(bound);
    if (!text.starts_with(sign)) continue;
    text = trimmed(text.substr(sign.size()));
    return bound;
  }
  return std::nullopt;
}

/// "12", "1e-3", "10 %". None: anything else, or no finite number.
std::optional<double> parse_limit(std::string_view text, bool is_share) {
  bool const is_percent = text.ends_with('%');
  if (is_percent) text = trimmed(text.substr(0, text.size() - 1));
  double value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  if (is_percent && !is_share) return std::nullopt;
  return is_percent ? value / 100 : value;
}

/// Budgets by fact, and the first error.
class BudgetReader {
 public:
  explicit BudgetReader(std::string const& path) : path_(path) {}

  using Table = std::map<std::string, std::vector<Budget>>;
  void read(toml::table const& document);
  [[nodiscard]] std::optional<Error> const& error() const { return error_; }

  Table defaults;
  std::map<std::string, Table> workloads;

 private:
  void fail(toml::source_region const& where, std::string const& what) {
    if (!error_)
      error_ =
          Error{fmt::format("{}:{}:{}: {}", path_, where.begin.line, where.begin.column, what)};
  }
  void read_workloads(toml::table const& tables);
  void read_table(toml::table const& table, Table& to);
  void read_limits(std::string const& key, toml::node const& value, Table& to);
  void read_limit(std::string const& key, toml::node const& value, Table& to);

  std::string const& path_;
  std::optional<Error> error_;
};

std::string known_facts() {
  std::string text;
  for (auto const& fact : analyzer::budget_facts()) text += (text.empty() ? "" : ", ") + fact.name;
  return text;
}

void BudgetReader::read(toml::table const& document) {
  for (auto const& [key, value] : document) {
    std::string const name(key.str());
    if (name == "default" && value.is_table()) {
      read_table(*value.as_table(), defaults);
      continue;
    }
    if (name == "workload" && value.is_table()) {
      read_workloads(*value.as_table());
      continue;
    }

    bool const is_budget = analyzer::find_budget_fact(name) != nullptr;
    fail(key.source(),
         is_budget ? fmt::format(
                         "{} stands in no table, write [default] or [workload.NAME] above it", name)
                   : fmt::format("{} is not known, write [default] or [workload.NAME]",
                                 shown_text(name)));
  }
}

void BudgetReader::read_workloads(toml::table const& tables) {
  for (auto const& [workload, table] : tables) {
    if (table.is_table())
      read_table(*table.as_table(), workloads[std::string(workload.str())]);
    else
      fail(workload.source(), fmt::format("write a table for each workload, [workload.{}]",
                                          shown_text(workload.str())));
  }
}

void BudgetReader::read_table(toml::table const& table, Table& to) {
  for (auto const& [key, value] : table) {
    std::string const name(key.str());
    if (analyzer::find_budget_fact(name) != nullptr) {
      read_limits(name, value, to);
      continue;
    }

    std::string const nearest = analyzer::nearest_budget_fact(name);
    std::string const meant =
        nearest.empty() ? std::string() : fmt::format(" Did you mean {}?", nearest);
    fail(key.source(),
         fmt::format("{} is no budget.{} Budgets: {}", shown_text(name), meant, known_facts()));
  }
}

void BudgetReader::read_limits(std::string const& key, toml::node const& value, Table& to) {
  auto const* const list = value.as_array();
  if (list == nullptr) return read_limit(key, value, to);
  if (list->empty())
    fail(value.source(), fmt::format("{} has no limit, write for example \"<= 12\"", key));
  for (toml::node const& item : *list) read_limit(key, item, to);
}

void BudgetReader::read_limit(std::string const& key, toml::node const& value, Table& to) {
  bool const is_share = analyzer::find_budget_fact(key)->unit == FactUnit::kShare;
  std::string const example = is_share ? "\"<= 0.1\" or \"<= 10 %\"" : "\"<= 12\"";

  if (auto const number = value.value<double>(); number && value.is_number())
    return fail(value.source(), fmt::format("{} needs a sign, write \"<= {:g}\" or \">= {:g}\"",
                                            key, *number, *number));
  if (!value.is_string())
    return fail(value.source(), fmt::format("{} is no limit, write for example {}", key, example));

  std::string const& whole = value.as_string()->get();
  std::string_view text = trimmed(whole);
  std::optional<Bound> const bound = take_bound(text);
  std::optional<double> const limit = bound ? parse_limit(text, is_share) : std::nullopt;
  if (!limit || *limit < 0)
    return fail(value.source(), fmt::format("{} = \"{}\" is no limit, write for example {}", key,
                                            shown_text(whole), example));

  if (is_share && *limit > 1 && text.ends_with('%'))
    return fail(value.source(),
                fmt::format("{} = \"{}\": a share is at most 100 %", key, shown_text(whole)));
  if (is_share && *limit > 1)
    return fail(value.source(),
                fmt::format("{} = \"{}\": a share is at most 1, write \"{} {:g} %\" for percent",
                            key, shown_text(whole), analyzer::to_string(*bound), *limit));

  to[key].push_back(
      {key, *bound, *limit, path_, value.source().begin.line, value.source().begin.column});
}

std::string known_workloads(BudgetReader const& reader) {
  std::string text;
  for (auto const& [name, table] : reader.workloads)
    text += (text.empty() ? "" : ", ") + shown_text(name);
  return text.empty() ? "none" : text;
}

}  // namespace

base::Expected<std::vector<Budget>> parse_budgets(std::string_view text, std::string const& path,
                                                  std::string_view workload) {
  if (text.size() > kMostBudgetBytes)
    return base::fail("{}: {} are more than a budget file has", path,
                      base::format_bytes(text.size()));

  auto const document = parse_toml(text, path);
  if (!document) return base::fail_with(document);

  BudgetReader reader(path);
  reader.read(*document);
  if (reader.error()) return tl::unexpected<Error>(*reader.error());

  auto const own = reader.workloads.find(std::string(workload));
  std::vector<Budget> budgets;
  for (auto const& fact : analyzer::budget_facts())
    for (auto const* table :
         {own == reader.workloads.end() ? nullptr : &own->second, &reader.defaults}) {
      if (table == nullptr || !table->contains(fact.name)) continue;
      auto const& limits = table->at(fact.name);
      budgets.insert(budgets.end(), limits.begin(), limits.end());
      break;
    }

  if (budgets.empty())
    return base::fail(
        "{}: has no budget for workload {} (it has: {}), write [default] or [workload.{}], or "
        "choose with --name",
        path, shown_text(workload), known_workloads(reader), shown_text(workload));

  return budgets;
}

}  // namespace stepscope::gate
