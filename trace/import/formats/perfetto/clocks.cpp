#include "trace/import/formats/perfetto/clocks.h"

#include <algorithm>
#include <limits>

#include "trace/base/protobuf_reader.h"
#include "trace/import/formats/perfetto/fields.h"
#include "trace/import/formats/perfetto/saturating.h"

namespace stepscope::import::perfetto {
namespace {

using C = ClockNumber;

constexpr int64_t kLastTime = std::numeric_limits<int64_t>::max(),
                  kFirstTime = std::numeric_limits<int64_t>::min();

int64_t saturated_product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kLastTime : product;
}
int64_t to_signed(uint64_t time) {
  return static_cast<int64_t>(std::min<uint64_t>(time, kLastTime));
}

bool is_of_sequence(uint64_t clock) {
  return clock >= C::kFirstOfSequence && clock < C::kFirstGlobal;
}

}  // namespace

std::vector<Clocks::Reading> Clocks::read(std::string_view snapshot) {
  std::vector<Reading> readings;
  base::ProtobufReader reader(snapshot);
  base::ProtobufField field, of_clock;

  while (reader.next(field)) {
    if (!field.is_bytes(C::kClocks)) continue;
    Reading reading;
    base::ProtobufReader clock(field.bytes);
    while (clock.next(of_clock)) {
      if (of_clock.is_varint(C::kId)) reading.clock = of_clock.value;
      if (of_clock.is_varint(C::kTimestamp)) reading.time = to_signed(of_clock.value);
      if (of_clock.is_varint(C::kIsIncremental)) reading.is_incremental = of_clock.value != 0;
      if (of_clock.is_varint(C::kUnitNs))
        reading.unit_ns = std::clamp<int64_t>(to_signed(of_clock.value), 1, 1'000'000'000);
    }

    reading.time = saturated_product(reading.time, reading.unit_ns);
    readings.push_back(reading);
  }

  return readings;
}

void Clocks::add_point(uint64_t clock, int64_t time, int64_t trace_time) {
  Points& points = points_[clock];
  std::pair const point(time, trace_time);

  // Clocks do not run backward: more of such points than a few are damage, and each costs the time
  // to make room for it.
  constexpr size_t kMostInserted = size_t{1} << 14U;

  if (points.empty() || points.back().first < time)
    points.push_back(point);
  else if (points.size() > kMostInserted)
    return;
  else if (auto const place =
               std::lower_bound(points.begin(), points.end(), std::pair(time, kFirstTime));
           place == points.end() || place->first != time)
    points.insert(place, point);
}

/// The trace's time of a snapshot, from any of its clocks whose relation to the trace's is known.
std::optional<int64_t> Clocks::trace_time_of(std::vector<Reading> const& readings) {
  for (Reading const& reading : readings)
    if (reading.clock == primary_) return reading.time;
  for (Reading const& reading : readings)
    if (!is_of_sequence(reading.clock) && points_.contains(reading.clock))
      return at_global(reading.time, reading.clock);
  return std::nullopt;
}

void Clocks::add_snapshot(std::string_view snapshot, uint64_t /*sequence*/) {
  if (primary_ == 0) {
    primary_ = C::kBootTime;
    base::ProtobufReader reader(snapshot);
    base::ProtobufField field;
    while (reader.next(field))
      if (field.is_varint(C::kPrimary) && field.value != 0 && !is_of_sequence(field.value))
        primary_ = field.value;
  }

  std::vector<Reading> readings = read(snapshot);
  auto const trace_time = trace_time_of(readings);
  if (!trace_time) return unresolved_.push_back(std::move(readings));

  for (Reading const& reading : readings)
    if (!is_of_sequence(reading.clock)) add_point(reading.clock, reading.time, *trace_time);
}

void Clocks::set_own_clocks(std::string_view snapshot, uint64_t sequence) {
  // What earlier snapshots could not be brought into relation with may be known by now.
  for (auto const& readings : std::exchange(unresolved_, {}))
    if (auto const trace_time = trace_time_of(readings))
      for (Reading const& reading : readings)
        if (!is_of_sequence(reading.clock)) add_point(reading.clock, reading.time, *trace_time);

  std::vector<Reading> const readings = read(snapshot);
  auto const trace_time = trace_time_of(readings);
  if (!trace_time) return;

  for (Reading const& reading : readings)
    if (is_of_sequence(reading.clock))
      own_[{sequence, reading.clock}] = {saturated_minus(*trace_time, reading.time), reading.time,
                                         reading.is_incremental, reading.unit_ns};
}

std::optional<int64_t> Clocks::at_global(int64_t time, uint64_t clock) {
  auto const found = points_.find(clock);
  if (found == points_.end()) return std::nullopt;
  Points const& points = found->second;
  auto const behind = std::upper_bound(points.begin(), points.end(), std::pair(time, kLastTime));
  auto const& point = behind == points.begin() ? points.front() : *std::prev(behind);
  return saturated_sum(saturated_minus(time, point.first), point.second);
}

std::optional<int64_t> Clocks::to_trace(uint64_t time, uint64_t clock, uint64_t sequence) {
  int64_t const given = to_signed(time);
  if (is_of_sequence(clock)) {
    std::pair const key(sequence, clock);
    if (last_own_ == nullptr || last_key_ != key) {
      auto const found = own_.find(key);
      if (found == own_.end()) return std::nullopt;
      last_key_ = key;
      last_own_ = &found->second;
    }
    Own& own = *last_own_;
    int64_t const scaled = saturated_product(given, own.unit_ns);
    own.last = own.is_incremental ? saturated_sum(own.last, scaled) : scaled;
    return saturated_sum(own.last, own.shift);
  }

  if (clock == 0 || clock == primary_ || (primary_ == 0 && clock == C::kBootTime)) return given;
  if (auto const known = at_global(given, clock)) return known;
  has_unknown_ = true;
  return given;
}

std::optional<int64_t> Clocks::first_snapshot() const {
  auto const found = points_.find(C::kRealTime);
  if (found == points_.end() || found->second.empty()) return std::nullopt;
  return found->second.front().second;
}

int64_t Clocks::epoch_ns() const {
  auto const found = points_.find(C::kRealTime);
  if (found == points_.end() || found->second.empty()) return 0;
  return saturated_minus(found->second.front().first, found->second.front().second);
}

}  // namespace stepscope::import::perfetto
