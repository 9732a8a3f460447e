#include "analyzer/whatif/changes/change.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <regex>
#include <utility>

#include "trace/base/format.h"
#include "trace/model/collective_ops.h"
#include "trace/model/trace.h"

namespace stepscope::analyzer {
namespace {

using base::Expected;
using base::fail;

constexpr double kLargestFactor = 1e6;
constexpr size_t kMostEchoedBytes = 100;
/// std::regex compiles by recursion: thousands of "(" would overflow the stack.
constexpr size_t kLongestPattern = 256;
/// libstdc++ copies what "{12}" repeats so many times, and checks no overflow of such a number.
constexpr size_t kMostPatternDigits = 3;

std::string echoed(std::string_view text) {
  if (text.empty()) return "\"\"";
  return base::printable(base::valid_utf8(text, kMostEchoedBytes));
}

/// A number and what follows it.
struct NumberAndRest {
  double value = 0;
  std::string_view rest;
};

/// None: `text` begins with no number. A number that double cannot hold is NaN.
std::optional<NumberAndRest> number_and_rest(std::string_view text) {
  NumberAndRest number;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (error == std::errc::invalid_argument) return std::nullopt;
  if (error != std::errc()) number.value = std::nan("");
  number.rest = text.substr(static_cast<size_t>(end - text.data()));
  return number;
}

/// What a factor multiplies.
enum class FactorOf : uint8_t { kDuration, kBandwidth };

/// "*2", "/1.5": the factor of the duration, which a bandwidth divides.
Expected<double> parse_factor(std::string_view how, FactorOf what) {
  auto const number = number_and_rest(how.substr(1));
  if (!number || !number->rest.empty())
    return fail("{} is no factor, write a number behind the sign, such as *2 or /1.5", echoed(how));
  if (!std::isfinite(number->value) || number->value < 0)
    return fail("{} is not possible, write a factor from 0 to {:.0f}", echoed(how), kLargestFactor);

  bool const is_division = how.front() == '/';
  if (number->value == 0 && what == FactorOf::kBandwidth)
    return fail("a bandwidth of {} is not possible, write *2 or /2", echoed(how));
  if (number->value == 0 && is_division)
    return fail("{} divides by zero, write *0 for no time at all", echoed(how));

  double const factor =
      is_division == (what == FactorOf::kDuration) ? 1 / number->value : number->value;
  if (factor > kLargestFactor)
    return fail("{} makes a duration more than {:.0f} times as long, write a smaller change",
                echoed(how), kLargestFactor);
  return factor;
}

/// "5us", "2.5ms".
Expected<int64_t> parse_amount(std::string_view how, NumberAndRest const& number) {
  static constexpr std::array<std::pair<std::string_view, double>, 6> kUnits = {
      {{"ns", 1}, {"us", 1e3}, {"\u00B5s", 1e3}, {"\u03BCs", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  auto const* const unit = std::find_if(
      kUnits.begin(), kUnits.end(), [&](auto const& known) { return known.first == number.rest; });
  if (unit == kUnits.end())
    return fail("{} has an unknown unit, write ns, us, µs, ms or s, or for a factor *2 or /2",
                echoed(how));

  double const ns = number.value * unit->second;
  if (ns > static_cast<double>(model::kMaxTime))
    return fail("{} is not possible, write a time of at most 73 years", echoed(how));
  return std::llround(ns);
}

Expected<HowMuch> parse_how(std::string_view how) {
  if (how == "0" || how == "off") return HowMuch{.factor = 0};
  if (how.starts_with('*') || how.starts_with('/')) {
    auto const factor = parse_factor(how, FactorOf::kDuration);
    if (!factor) return fail_with(factor);
    return HowMuch{.factor = *factor};
  }

  auto const number = number_and_rest(how);
  if (!number)
    return fail("{} tells no change, write *2, /2, off or a time such as 5us", echoed(how));
  if (!std::isfinite(number->value) || number->value < 0)
    return fail("{} is not possible, write *2, /2, off or a time such as 5us", echoed(how));
  if (number->rest.empty())
    return fail("{} has neither a sign nor a unit, write for example *2, /2 or 5us", echoed(how));

  auto const amount = parse_amount(how, *number);
  if (!amount) return fail_with(amount);
  return HowMuch{.amount_ns = *amount};
}

/// "WORD", "WORD=VALUE", "WORD:SELECTOR=VALUE".
struct WrittenChange {
  std::string_view word;
  bool has_selector = false, has_value = false;
  std::string_view selector, value;
};

/// A HOW has no "=", so that the last one ends the selector: regular expressions and names may have
/// others.
WrittenChange split_change(std::string_view text) {
  WrittenChange written;
  size_t const word_end = std::min(text.find_first_of(":="), text.size());
  written.word = text.substr(0, word_end);
  written.has_selector = word_end < text.size() && text[word_end] == ':';
  size_t const equals = written.has_selector ? text.rfind('=') : word_end;
  written.has_value = equals < text.size();

  if (written.has_value) written.value = text.substr(equals + 1);
  if (written.has_selector) {
    size_t const selector_end = written.has_value ? equals : text.size();
    written.selector = text.substr(word_end + 1, selector_end - word_end - 1);
  }
  return written;
}

Expected<WhatIfChange> change_by(ChangeKind kind, std::string_view how,
                                 std::string_view selector = {}) {
  auto const parsed = parse_how(how);
  if (!parsed) return fail_with(parsed);
  return WhatIfChange{.kind = kind, .selector = std::string(selector), .how = *parsed};
}

size_t leading_digits(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789"), text.size());
}

/// Whether "{12}", "{12,34}" or "\12" has a number of too many digits.
bool has_long_number(std::string_view pattern) {
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '{' && pattern[at] != '\\') continue;
    std::string_view const number = pattern.substr(at + 1);
    size_t const digits = leading_digits(number);
    if (digits > kMostPatternDigits) return true;

    if (pattern[at] == '\\')
      ++at;  // the sign behind it begins no repeat
    else if (digits < number.size() && number[digits] == ',' &&
             leading_digits(number.substr(digits + 1)) > kMostPatternDigits)
      return true;
  }
  return false;
}

Expected<WhatIfChange> parse_kernel(WrittenChange const& written) {
  std::string const pattern(written.selector);
  if (pattern.empty())
    return fail("no kernel is named, write for example kernel:gemm=/2, or kernel:.*=/2 for all");
  if (pattern.size() > kLongestPattern)
    return fail("the regular expression has {} bytes, write one of at most {}", pattern.size(),
                kLongestPattern);
  if (has_long_number(pattern))
    return fail("a number in the regular expression has more than {} digits, write a smaller one",
                kMostPatternDigits);

  try {
    std::regex const compiled(pattern);
  } catch (std::regex_error const& error) {
    return fail(
        "the regular expression {} is wrong ({}), correct it or write a backslash before each "
        "sign that stands for itself, such as \\( or \\[",
        echoed(pattern), error.what());
  }
  return change_by(ChangeKind::kKernel, written.value, pattern);
}

Expected<WhatIfChange> parse_class(WrittenChange const& written) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kClasses = {
      {{"compute", "compute"},
       {"communication", "communication"},
       {"comm", "communication"},
       {"copy", "copy"},
       {"copies", "copy"}}};

  for (auto const& [name, device_class] : kClasses)
    if (name == written.selector) return change_by(ChangeKind::kClass, written.value, device_class);
  return fail("{} is no class of device ops, write compute, communication or copy",
              echoed(written.selector));
}

Expected<WhatIfChange> parse_comm(WrittenChange const& written) {
  if (written.selector == "latency") return change_by(ChangeKind::kLatency, written.value);
  if (written.selector != "bandwidth")
    return fail("{} is no part of communication, write bandwidth or latency",
                echoed(written.selector));

  std::string_view const how = written.value;
  if (how == "0" || how == "off")
    return fail("a bandwidth of {} is not possible, write *2 or /2", echoed(how));
  if (!how.starts_with('*') && !how.starts_with('/'))
    return fail("a bandwidth changes by a factor, write for example comm:bandwidth=*2");

  auto const factor = parse_factor(how, FactorOf::kBandwidth);
  if (!factor) return fail_with(factor);
  return WhatIfChange{.kind = ChangeKind::kBandwidth, .how = {.factor = *factor}};
}

Expected<WhatIfChange> parse_collective(WrittenChange const& written) {
  std::string known;
  for (model::CollectiveOpInfo const& row : model::kCollectiveTable) {
    if (row.op == model::CollectiveOp::kUnknown) continue;
    if (written.selector == row.name || written.selector == row.torch_name)
      return change_by(ChangeKind::kCollective, written.value, row.name);
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }

  return fail("{} is no operation, write one of {}", echoed(written.selector), known);
}

Expected<WhatIfChange> parse_host_range(WrittenChange const& written) {
  if (written.selector.empty())
    return fail("no range is named, write for example host:optimizer=/2");
  return change_by(ChangeKind::kHostRange, written.value, written.selector);
}

Expected<WhatIfChange> parse_straggler(WrittenChange const& written) {
  std::string_view const value = written.value;
  if (value == "median") return WhatIfChange{.kind = ChangeKind::kStraggler};

  int32_t rank = 0;
  auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), rank);
  if (error != std::errc() || end != value.data() + value.size() || rank < 0)
    return fail("{} is no rank, write straggler=median or a rank, such as straggler=3",
                echoed(value));
  return WhatIfChange{.kind = ChangeKind::kStraggler, .rank = rank};
}

Expected<WhatIfChange> parse_bucket(WrittenChange const& written) {
  struct ByteUnit {
    std::string_view name;
    double bytes;
  };
  static constexpr std::array<ByteUnit, 7> kByteUnits = {{{"B", 1},
                                                          {"KiB", 1024.0},
                                                          {"MiB", 1024.0 * 1024},
                                                          {"GiB", 1024.0 * 1024 * 1024},
                                                          {"KB", 1e3},
                                                          {"MB", 1e6},
                                                          {"GB", 1e9}}};
  double value = 0;
  auto const* const last = written.value.data() + written.value.size();
  auto const [end, error] = std::from_chars(written.value.data(), last, value);
  std::string_view const unit(end, static_cast<size_t>(last - end));

  for (ByteUnit const& known : kByteUnits) {
    constexpr double kMostBytes = 1e15;
    double const bytes = value * known.bytes;
    if (error == std::errc() && unit == known.name && bytes >= 1 && bytes <= kMostBytes)
      return WhatIfChange{.kind = ChangeKind::kBucket, .bytes = static_cast<uint64_t>(bytes)};
  }
  return fail("{} is no size, write for example bucket=25MiB", echoed(written.value));
}

/// "16", "16:same-batch": a number, and whether the word follows it. None: anything else.
struct NumberAndWord {
  uint32_t number = 0;
  bool has_word = false;
};
std::optional<NumberAndWord> number_and_word(std::string_view value, std::string_view word,
                                             uint32_t most) {
  NumberAndWord result;
  size_t const colon = value.find(':');
  result.has_word = colon != std::string_view::npos;
  if (result.has_word && value.substr(colon + 1) != word) return std::nullopt;

  std::string_view const digits = value.substr(0, colon);
  auto const* const last = digits.data() + digits.size();
  auto const [end, error] = std::from_chars(digits.data(), last, result.number);
  bool const is_number = error == std::errc() && end == last && !digits.empty();
  if (!is_number || result.number == 0 || result.number > most) return std::nullopt;
  return result;
}

Expected<WhatIfChange> parse_ranks(WrittenChange const& written) {
  constexpr uint32_t kMostRanks = 1U << 20U;
  auto const ranks = number_and_word(written.value, "same-batch", kMostRanks);
  if (!ranks)
    return fail("{} is no number of ranks, write for example ranks=16, or ranks=16:same-batch",
                echoed(written.value));
  return WhatIfChange{
      .kind = ChangeKind::kRanks, .ranks = ranks->number, .keeps_batch = ranks->has_word};
}

Expected<WhatIfChange> parse_micro_batches(WrittenChange const& written) {
  constexpr uint32_t kMostMicroBatches = 1U << 12U;
  auto const batches = number_and_word(written.value, "same-size", kMostMicroBatches);

  if (!batches)
    return fail(
        "{} is no number of micro-batches from 1 to {}, write for example micro-batches=16, or "
        "micro-batches=16:same-size",
        echoed(written.value), kMostMicroBatches);
  return WhatIfChange{.kind = ChangeKind::kMicroBatches,
                      .micro_batches = batches->number,
                      .keeps_batch = !batches->has_word};
}

/// None: anything but a number that a batch may have.
std::optional<double> batch_size(std::string_view text) {
  constexpr double kLargestBatch = 1e9;
  auto const number = number_and_rest(text);
  bool const is_size = number && number->rest.empty() && number->value >= 1 / kLargestBatch &&
                       number->value <= kLargestBatch;
  return is_size ? std::optional(number->value) : std::nullopt;
}

Expected<WhatIfChange> parse_batch(WrittenChange const& written) {
  size_t const comma = std::min(written.selector.find(','), written.selector.size());
  auto const of_run = batch_size(written.selector.substr(0, comma));
  auto const of_probe = comma < written.selector.size()
                            ? batch_size(written.selector.substr(comma + 1))
                            : std::nullopt;
  auto const asked = batch_size(written.value);

  if (!of_run || !of_probe || !asked)
    return fail(
        "three sizes of a batch are needed, write for example batch:32,64=128: of the run, of the "
        "probe, and the one that is asked about");
  if (*of_run == *of_probe)
    return fail("run and probe have the same batch, give a probe with another one");
  return WhatIfChange{.kind = ChangeKind::kBatch, .batch = {*of_run, *of_probe, *asked}};
}

Expected<WhatIfChange> parse_stages(WrittenChange const& written) {
  if (written.value != "balanced") return fail("stages are only made equal, write stages=balanced");
  return WhatIfChange{.kind = ChangeKind::kStages};
}

Expected<WhatIfChange> parse_imbalance(WrittenChange const& written) {
  if (written.value != "mean") return fail("work is only spread evenly, write imbalance=mean");
  return WhatIfChange{.kind = ChangeKind::kImbalance};
}

Expected<WhatIfChange> parse_sync(WrittenChange const& written) {
  if (written.value != "off" && written.value != "0")
    return fail("calls wait for the device or do not, write sync=off");
  return WhatIfChange{.kind = ChangeKind::kSync, .how = {.factor = 0}};
}

template <ChangeKind kKind>
Expected<WhatIfChange> parse_plain(WrittenChange const& written) {
  return change_by(kKind, written.value);
}

/// A word with what follows it.
struct ChangeForm {
  std::string_view word;
  std::string_view form, example;
  Expected<WhatIfChange> (*parse)(WrittenChange const& written) = nullptr;
  std::string_view alias = {};

  [[nodiscard]] bool takes_selector() const { return form.find(':') < form.find('='); }
  [[nodiscard]] bool takes_value() const { return form.find('=') != std::string_view::npos; }
};

constexpr std::array<ChangeForm, 18> kChangeForms = {{
    {"kernel", "kernel:REGEX=HOW", "kernel:gemm=/1.5", parse_kernel},
    {"class", "class:compute|communication|copy=HOW", "class:compute=/2", parse_class},
    {"comm", "comm:bandwidth|latency=HOW", "comm:bandwidth=*2", parse_comm},
    {"collective", "collective:OP=HOW", "collective:all_reduce=/2", parse_collective},
    {"bucket", "bucket=SIZE", "bucket=25MiB", parse_bucket},
    {"ranks", "ranks=N[:same-batch]", "ranks=16", parse_ranks},
    {"micro-batches", "micro-batches=N[:same-size]", "micro-batches=16", parse_micro_batches},
    {"batch", "batch:RUN,PROBE=N", "batch:32,64=128", parse_batch},
    {"stages", "stages=balanced", "stages=balanced", parse_stages},
    {"overlap", "overlap", "overlap",
     [](WrittenChange const&) -> Expected<WhatIfChange> {
       return WhatIfChange{.kind = ChangeKind::kOverlap};
     }},
    {"straggler", "straggler=median|RANK", "straggler=median", parse_straggler},
    {"imbalance", "imbalance=mean", "imbalance=mean", parse_imbalance},
    {"host", "host:NAME=HOW", "host:optimizer=/2", parse_host_range},
    {"input", "input=HOW", "input=0", parse_plain<ChangeKind::kInput>},
    {"sync", "sync=off", "sync=off", parse_sync},
    {"copies", "copies=HOW", "copies=0", parse_plain<ChangeKind::kCopies>},
    {"alloc", "alloc=HOW", "alloc=0", parse_plain<ChangeKind::kAllocation>, "allocation"},
    {"launch", "launch=HOW", "launch=0", parse_plain<ChangeKind::kLaunch>},
}};

constexpr std::string_view kBlank = " \t\r\n";

/// The next word of a text that begins with none of kBlank, without the quotes of its parts, which
/// it takes off the text. Errors: a quote that is never closed.
Expected<std::string> take_word(std::string_view& text) {
  std::string word;
  while (!text.empty() && kBlank.find(text.front()) == std::string_view::npos) {
    char const first = text.front();
    bool const is_quoted = first == '"' || first == '\'';
    size_t const end = is_quoted ? text.find(first, 1) : 1;
    if (end == std::string_view::npos)
      return fail("{}: the quote {} is never closed, write another one at the end", echoed(text),
                  first);

    word += is_quoted ? text.substr(1, end - 1) : text.substr(0, 1);
    text.remove_prefix(is_quoted ? end + 1 : 1);
  }
  return word;
}

std::string known_changes() {
  std::string known;
  for (ChangeForm const& row : kChangeForms) {
    if (!known.empty()) known += ", ";
    known += row.form;
  }
  return known;
}

/// The error names the mistake, not the change.
Expected<WhatIfChange> parse_written(WrittenChange const& written) {
  for (ChangeForm const& row : kChangeForms) {
    if (written.word != row.word && (row.alias.empty() || written.word != row.alias)) continue;
    if (written.has_selector != row.takes_selector() || written.has_value != row.takes_value())
      return fail("not of the form {}, write for example {}", row.form, row.example);
    return row.parse(written);
  }

  return fail(
      "no change is called {}, write one of {}, where HOW is *2, /2, off or a time such as 5us",
      echoed(written.word), known_changes());
}

}  // namespace

int64_t HowMuch::of(int64_t ns) const {
  if (amount_ns) return *amount_ns;
  // Beyond 2⁵³ a double does not hold each ns.
  if (factor == 1) return std::clamp(ns, -model::kMaxTime, model::kMaxTime);

  constexpr auto kMost = static_cast<double>(model::kMaxTime);
  double const changed = factor * static_cast<double>(ns);
  if (!(changed < kMost)) return model::kMaxTime;
  return std::llround(std::max(changed, -kMost));
}

Expected<WhatIfChange> parse_change(std::string_view text) {
  if (text.empty()) return fail("the change is empty, write one of {}", known_changes());
  auto change = parse_written(split_change(text));
  if (!change) return fail("{}: {}", echoed(text), change.error().message);
  change->text = text;
  return change;
}

Expected<std::vector<WhatIfChange>> parse_changes(std::string_view text) {
  std::vector<WhatIfChange> changes;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
    if (text.empty()) break;

    auto const word = take_word(text);
    if (!word) return base::fail_with(word);
    auto change = parse_change(*word);
    if (!change) return base::fail_with(change);
    changes.push_back(std::move(*change));
  }

  if (auto const good = check_together(changes); !good) return base::fail_with(good);
  return changes;
}

Expected<void> check_together(std::span<WhatIfChange const> changes) {
  for (size_t i = 0; i < changes.size(); ++i) {
    for (size_t before = 0; before < i; ++before) {
      WhatIfChange const &a = changes[before], &b = changes[i];
      bool const set_the_same = a.kind == b.kind && a.selector == b.selector && a.rank == b.rank;

      if (set_the_same)
        return fail("{} and {} change the same thing: leave out one of them", echoed(a.text),
                    echoed(b.text));
    }
  }
  return {};
}

std::string written_changes(std::span<std::string const> changes) {
  std::string text;
  for (std::string const& change : changes) {
    if (!text.empty()) text += ' ';
    bool const needs_quotes = change.find_first_of(" \t\r\n\"'") != std::string::npos;
    if (!needs_quotes) {
      text += change;
      continue;
    }

    text += '"';
    for (char const c : change) text += c == '"' ? std::string("\"'\"'\"") : std::string(1, c);
    text += '"';
  }
  return text;
}

}  // namespace stepscope::analyzer
