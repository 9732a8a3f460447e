#include "trace/file/codec/summary_codec.h"

#include <algorithm>
#include <bit>

#include "trace/model/trace.h"

namespace stepscope::file {
namespace {

constexpr uint8_t kSummaryScope = 0;
enum SummaryColumn : uint8_t {
  kBegin = 0,
  kBusy = 1,  // one a class: 1..4
  kStarts = 5,
  kDepth = 6,
  kLongest = 7,
  kLongestName = 8,
  kLow = 9,
  kHigh = 10
};
enum StepColumn : uint8_t { kStepTrack = 0, kStepStart = 1, kStepDur = 2, kStepIndex = 3 };

/// More steps than any job has; a header that claims more is damaged.
constexpr uint32_t kMaxSteps = 1U << 22;

template <class T>
uint64_t to_column_bits(T value) {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<uint64_t>(value);
  else if constexpr (std::is_same_v<T, model::StringId> || std::is_same_v<T, model::TrackId>)
    return value.value;
  else
    return static_cast<uint64_t>(value);
}

template <class T>
T from_column_bits(uint64_t bits) {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(bits);
  else if constexpr (std::is_same_v<T, model::StringId> || std::is_same_v<T, model::TrackId>)
    return T{static_cast<uint32_t>(bits)};
  else
    return static_cast<T>(bits);
}

/// Calls visit(number, column) for every column of a summary.
template <class Summary, class Visit>
void for_each_column(Summary& summary, Visit&& visit) {
  visit(kBegin, summary.begin);
  for (size_t c = 0; c < model::kOpClassCount; ++c)
    visit(static_cast<uint8_t>(kBusy + c), summary.busy[c]);
  visit(kStarts, summary.starts);
  visit(kDepth, summary.depth);
  visit(kLongest, summary.longest);
  visit(kLongestName, summary.longest_name);
  visit(kLow, summary.low);
  visit(kHigh, summary.high);
}

bool is_possible(model::TrackSummary const& summary) {
  for (size_t bin = 0; bin < summary.size(); ++bin) {
    int64_t const begin = summary.begin[bin];
    int64_t const end = summary.bin_end(bin);
    if (begin < -model::kMaxTime || end > model::kMaxTime + 1 || begin >= end ||
        summary.longest[bin] < 0)
      return false;
    for (auto const& busy : summary.busy)
      if (busy[bin] < 0 || busy[bin] > end - begin) return false;
  }
  return true;
}

}  // namespace

void encode_summary(model::TrackSummary const& summary, ColumnEncoder& columns,
                    base::ByteWriter& out) {
  columns.clear();
  std::vector<uint64_t> values(summary.size());
  for_each_column(summary, [&](uint8_t number, auto const& column) {
    std::transform(column.begin(), column.end(), values.begin(),
                   [](auto value) { return to_column_bits(value); });
    columns.put(kSummaryScope, number, values);
  });
  put_columns(columns, out);
}

uint64_t max_bins(uint64_t events) { return 2 * (events / model::kMinEventsPerBin) + 2; }

bool decode_summary(base::ByteSpan payload, uint32_t bins, int64_t end,
                    model::TrackSummary& summary) {
  ColumnTable columns;
  if (!columns.parse(payload)) return false;
  std::vector<uint64_t> values(bins);
  bool good = true;
  for_each_column(summary, [&](uint8_t number, auto& column) {
    good = good && columns.decode(kSummaryScope, number, values);
    column.resize(bins);
    if (!good) return;
    using Value = typename std::remove_cvref_t<decltype(column)>::value_type;
    std::transform(values.begin(), values.end(), column.begin(),
                   [](uint64_t bits) { return from_column_bits<Value>(bits); });
  });
  summary.end = end;
  return good && is_possible(summary);
}

void encode_steps(std::vector<StepSpan> const& steps, ColumnEncoder& columns,
                  base::ByteWriter& out) {
  columns.clear();
  std::vector<uint64_t> values(steps.size());
  auto const put = [&](uint8_t number, auto member) {
    std::transform(steps.begin(), steps.end(), values.begin(),
                   [&](StepSpan const& step) { return to_column_bits(step.*member); });
    columns.put(kSummaryScope, number, values);
  };
  put(kStepTrack, &StepSpan::track);
  put(kStepStart, &StepSpan::start);
  put(kStepDur, &StepSpan::dur);
  put(kStepIndex, &StepSpan::index);
  put_columns(columns, out);
}

bool decode_steps(base::ByteSpan payload, uint32_t count, std::vector<StepSpan>& steps) {
  ColumnTable columns;
  if (count > kMaxSteps || !columns.parse(payload)) return false;
  steps.resize(count);
  std::vector<uint64_t> values(count);
  bool good = true;
  auto const get = [&](uint8_t number, auto member) {
    good = good && columns.decode(kSummaryScope, number, values);
    if (!good) return;
    using Value = std::remove_cvref_t<decltype(steps.front().*member)>;
    for (size_t i = 0; i < steps.size(); ++i) steps[i].*member = from_column_bits<Value>(values[i]);
  };
  get(kStepTrack, &StepSpan::track);
  get(kStepStart, &StepSpan::start);
  get(kStepDur, &StepSpan::dur);
  get(kStepIndex, &StepSpan::index);
  return good;
}

}  // namespace stepscope::file
