#include "tune/space_file.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "gate/toml.h"
#include "trace/base/format.h"

namespace stepscope::tune {
namespace {

using base::Error;
using base::Expected;
using base::fail;

/// What gate::parse_toml() makes of letters outside of ASCII.
constexpr std::string_view kUnusableLetter = "\xEF\xBF\xBD";
/// Longer budgets are mistakes; days of tuning fit.
constexpr size_t kMostPairs = 1000;
constexpr int64_t kMostSteps = 1'000'000'000;
constexpr double kMostRangeValue = 1e15;

std::string shown_key(std::string_view text) {
  constexpr size_t kMostShownBytes = 100;
  return base::printable(base::valid_utf8(text, kMostShownBytes));
}

/// Fills a space, and keeps the first error.
class SpaceReader {
 public:
  explicit SpaceReader(std::string const& path) : path_(path) {}

  void read(toml::table const& document) {
    for (auto const& [key, value] : document) {
      std::string_view const name = key.str();
      if (name == "objective") read_objective(key, value);
      if (name == "knob") read_knobs(key, value);
      if (name == "restrict") read_restrictions(key, value);
      if (name == "budget") read_budget(key, value);

      if (!is_one_of(name, {"objective", "knob", "restrict", "budget"}))
        fail_at(key.source(),
                fmt::format("{} is not known, write [objective], [knob.NAME], [[restrict]] or "
                            "[budget]",
                            shown_key(name)));
    }
  }
  [[nodiscard]] std::optional<Error> const& error() const { return error_; }

  Space space;

 private:
  static bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  void fail_at(toml::source_region const& where, std::string const& what) {
    if (error_) return;
    error_ = Error{fmt::format("{}:{}:{}: {}", path_, where.begin.line, where.begin.column, what)};
  }
  void fail_at(toml::node const& node, std::string const& what) { fail_at(node.source(), what); }

  /// Null, and an error, where it is no table, or has a key that is not `known`.
  toml::table const* table_of(std::string_view name, toml::node const& value,
                              std::initializer_list<std::string_view> known) {
    auto const* const table = value.as_table();
    if (table == nullptr) {
      fail_at(value, fmt::format("{} is no table, write [{}]", shown_key(name), shown_key(name)));
      return nullptr;
    }

    for (auto const& [key, inner] : *table)
      if (!is_one_of(key.str(), known))
        fail_at(key.source(),
                fmt::format("{} is not known in [{}], known are: {}", shown_key(key.str()),
                            shown_key(name), fmt::join(known, ", ")));
    return table;
  }

  std::optional<std::string> text_of(toml::node const& node, std::string_view what) {
    if (!node.is_string()) {
      fail_at(node, fmt::format("{} is no text, write it in quotes", what));
      return std::nullopt;
    }

    std::string text = node.as_string()->get();
    if (text.find(kUnusableLetter) != std::string::npos) {
      fail_at(node, fmt::format("{} has letters outside of ASCII", what));
      return std::nullopt;
    }
    return text;
  }
  bool flag_of(toml::table const& table, std::string_view key) {
    toml::node const* const node = table.get(key);
    if (node == nullptr) return false;
    if (!node->is_boolean()) fail_at(*node, fmt::format("{} is true or false", key));
    return node->value_or(false);
  }
  /// Numbers and true and false as they are written on a command line.
  std::optional<std::string> value_text(toml::node const& node, std::string_view what) {
    if (auto const* const whole = node.as_integer()) return fmt::format("{}", whole->get());
    if (auto const* const flag = node.as_boolean()) return flag->get() ? "true" : "false";

    if (auto const* const number = node.as_floating_point()) {
      if (std::isfinite(number->get())) return fmt::format("{}", number->get());
      fail_at(node, fmt::format("{} is no finite number", what));
      return std::nullopt;
    }
    if (node.is_string()) return text_of(node, what);
    fail_at(node, fmt::format("{} is no number, text, true or false", what));
    return std::nullopt;
  }
  std::optional<Expression> expression_of(toml::node const& node, std::string_view what) {
    auto const text = text_of(node, what);
    if (!text) return std::nullopt;
    auto parsed = Expression::parse(*text);
    if (parsed) return std::move(*parsed);
    fail_at(node, fmt::format("{} {}", what, parsed.error().message));
    return std::nullopt;
  }

  void read_objective(toml::key const& name, toml::node const& value) {
    auto const* const table =
        table_of(name.str(), value, {"minimize", "maximize", "samples", "require"});
    if (table == nullptr) return;

    toml::node const* const minimize = table->get("minimize");
    toml::node const* const maximize = table->get("maximize");
    toml::node const* const samples = table->get("samples");
    if (minimize != nullptr && maximize != nullptr)
      return fail_at(*maximize, "minimize and maximize exclude each other");
    if (minimize != nullptr && text_of(*minimize, "minimize") != "step")
      return fail_at(*minimize, "write minimize = \"step\"");
    if (maximize != nullptr && text_of(*maximize, "maximize") != "samples_per_second")
      return fail_at(*maximize, "write maximize = \"samples_per_second\"");
    if ((maximize != nullptr) != (samples != nullptr))
      return fail_at(value,
                     "maximize = \"samples_per_second\" and samples, the samples of a step, go "
                     "together");

    if (samples != nullptr) space.samples = expression_of(*samples, "samples");
    if (toml::node const* const require = table->get("require")) read_requirements(*require);
  }

  void read_requirements(toml::node const& value) {
    auto const* const list = value.as_array();
    if (list == nullptr) return fail_at(value, "require is no list, write require = [\"…\"]");
    for (toml::node const& item : *list)
      if (auto condition = expression_of(item, "require"))
        space.requirements.push_back(std::move(*condition));
    if (space.requirements.size() > kMostConditions)
      fail_at(value, fmt::format("at most {} requirements", kMostConditions));
  }

  void read_restrictions(toml::key const& name, toml::node const& value) {
    auto const* const list = value.as_array();
    if (list == nullptr) return fail_at(value, "restrict is no list of tables, write [[restrict]]");
    if (list->size() > kMostConditions)
      return fail_at(value, fmt::format("at most {} restrictions", kMostConditions));

    for (toml::node const& item : *list) {
      auto const* const table = table_of(name.str(), item, {"expr"});
      if (table == nullptr) return;
      toml::node const* const condition = table->get("expr");
      if (condition == nullptr) return fail_at(item, "[[restrict]] needs expr = \"…\"");
      if (auto parsed = expression_of(*condition, "expr"))
        space.restrictions.push_back(std::move(*parsed));
    }
  }

  void read_budget(toml::key const& name, toml::node const& value) {
    auto const* const table = table_of(name.str(), value, {"time", "pairs", "steps"});
    if (table == nullptr) return;

    if (toml::node const* const time = table->get("time")) {
      auto const text = text_of(*time, "time");
      if (!text) return;
      auto const seconds = parse_budget_time(*text);
      if (!seconds) return fail_at(*time, "time: " + seconds.error().message);
      space.time_s = *seconds;
    }

    if (toml::node const* const pairs = table->get("pairs")) {
      int64_t const most = pairs->is_integer() ? pairs->value_or(int64_t{0}) : 0;
      if (most < 3 || most > static_cast<int64_t>(kMostPairs))
        return fail_at(*pairs, fmt::format("pairs is a whole number from 3 to {}", kMostPairs));
      space.pairs = static_cast<size_t>(most);
    }

    if (toml::node const* const steps = table->get("steps")) {
      int64_t const count = steps->is_integer() ? steps->value_or(int64_t{0}) : 0;
      if (count < 1 || count > kMostSteps)
        return fail_at(*steps, "steps is a whole number above 0: what {steps} stands for");
      space.steps = count;
    }
  }

  void read_knobs(toml::key const& name, toml::node const& value) {
    auto const* const knobs = value.as_table();
    if (knobs == nullptr)
      return fail_at(value, fmt::format("{} is no table, write [knob.NAME]", name.str()));
    // In the order of the file: toml++ sorts keys by name.
    std::vector<std::pair<toml::source_position, std::string_view>> places;
    for (auto const& [key, knob] : *knobs) places.emplace_back(key.source().begin, key.str());
    std::sort(places.begin(), places.end(),
              [](auto const& a, auto const& b) { return a.first < b.first; });

    for (auto const& [place, key] : places) {
      Knob knob;
      knob.name = std::string(key);
      read_knob(*knobs->get(key), knob);
      space.knobs.push_back(std::move(knob));
    }
  }

  void read_knob(toml::node const& value, Knob& knob) {
    std::string const name = "knob." + knob.name;
    auto const* const table = table_of(
        name, value, {"values", "range", "log", "default", "means", "env", "numerics", "words"});
    if (table == nullptr) return;
    toml::node const* const values = table->get("values");
    toml::node const* const range = table->get("range");
    toml::node const* const usual = table->get("default");
    if ((values != nullptr) == (range != nullptr))
      return fail_at(value,
                     fmt::format("{} needs values or a range, and not both", shown_key(knob.name)));
    if (usual == nullptr)
      return fail_at(value, fmt::format("{} has no default: it is what the command has today",
                                        shown_key(knob.name)));

    if (values != nullptr) read_values(*values, knob);
    if (range != nullptr) read_range(*range, flag_of(*table, "log"), knob);
    read_default(*usual, knob);
    knob.is_environment = flag_of(*table, "env");
    knob.changes_numerics = flag_of(*table, "numerics");
    if (toml::node const* const means = table->get("means")) read_meaning(*means, knob);
    if (toml::node const* const words = table->get("words")) read_words(*words, knob);
  }

  void read_values(toml::node const& value, Knob& knob) {
    auto const* const list = value.as_array();
    if (list == nullptr || list->empty())
      return fail_at(
          value, fmt::format("{} has no values, write values = [1, 2, 4]", shown_key(knob.name)));
    for (toml::node const& item : *list)
      if (auto text = value_text(item, "a value")) knob.values.push_back(std::move(*text));
  }

  void read_range(toml::node const& value, bool is_log, Knob& knob) {
    auto const* const list = value.as_array();
    std::vector<double> bounds;
    bool is_whole = true;
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
      auto const number = list->get(i)->is_number() ? list->get(i)->value<double>() : std::nullopt;
      if (number && std::abs(*number) <= kMostRangeValue) bounds.push_back(*number);
      is_whole = is_whole && list->get(i)->is_integer();
    }

    if (list == nullptr || list->size() != 2 || bounds.size() != 2 || !(bounds[0] < bounds[1]))
      return fail_at(value, "a range is [LOW, HIGH], two numbers, the larger one second");
    if (is_log && bounds[0] <= 0) return fail_at(value, "a range with log = true begins above 0");
    knob.range = KnobRange{bounds[0], bounds[1], is_log, is_whole};
    knob.values = grid_of(*knob.range);
  }

  /// A default within a range becomes one of its values.
  void read_default(toml::node const& value, Knob& knob) {
    auto text = value_text(value, "default");
    if (!text) return;
    knob.default_value = std::move(*text);
    bool const is_there =
        std::find(knob.values.begin(), knob.values.end(), knob.default_value) != knob.values.end();
    if (!knob.range) {
      if (!is_there && !knob.values.empty())
        fail_at(value,
                fmt::format("the default of {} is none of its values", shown_key(knob.name)));
      return;
    }

    auto const number = value.is_number() ? value.value<double>() : std::nullopt;
    if (!number || *number < knob.range->low || *number > knob.range->high)
      return fail_at(
          value, fmt::format("the default of {} is outside of its range", shown_key(knob.name)));
    if (!is_there) knob.values.push_back(knob.default_value);
    std::sort(knob.values.begin(), knob.values.end(), [](auto const& a, auto const& b) {
      return std::get<double>(value_of(a)) < std::get<double>(value_of(b));
    });
  }

  void read_meaning(toml::node const& value, Knob& knob) {
    auto const text = text_of(value, "means");
    if (!text) return;
    knob.meaning = find_meaning(*text);
    if (knob.meaning == nullptr)
      fail_at(value,
              fmt::format("means = \"{}\" is not known, write one of {}, or leave it out: the "
                          "knob is measured then",
                          shown_key(*text), known_meanings()));
  }

  void read_words(toml::node const& value, Knob& knob) {
    auto const* const table = value.as_table();
    if (table == nullptr)
      return fail_at(value, "words is no table, write words = { on = \"\", off = \"--no-x\" }");
    for (auto const& [key, word] : *table)
      if (auto text = text_of(word, "a word"))
        knob.words[std::string(key.str())] = std::move(*text);
  }

  std::string const& path_;
  std::optional<Error> error_;
};

}  // namespace

Expected<Space> parse_space(std::string_view text, std::string const& path) {
  if (text.size() > kMostSpaceBytes)
    return fail("{}: {} are more than a space has", path, base::format_bytes(text.size()));
  auto const document = gate::parse_toml(text, path);
  if (!document) return base::fail_with(document);

  SpaceReader reader(path);
  reader.read(*document);
  if (reader.error()) return tl::unexpected<Error>(*reader.error());
  if (auto const good = check_space(reader.space); !good)
    return fail("{}: {}", path, good.error().message);
  return std::move(reader.space);
}

}  // namespace stepscope::tune
