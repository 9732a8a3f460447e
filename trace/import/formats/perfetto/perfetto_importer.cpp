#include "trace/import/formats/perfetto/perfetto_importer.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/file/trace_file.h"
#include "trace/import/common/whole_input.h"
#include "trace/import/formats/importers.h"
#include "trace/import/formats/perfetto/foreign_events.h"
#include "trace/import/formats/perfetto/own_events.h"

namespace stepscope::import {
namespace perfetto {
namespace {

/// What our older exports add to all times where they know no time of day.
constexpr int64_t kOldShiftNs = 60'000'000'000;

/// What the sequences of packets say of themselves as they go.
struct SequenceState {
  uint64_t clock = 0;
  int64_t reference_ns = 0;  ///< of old traces, whose events tell the time since the one before
  bool was_seen = false, is_valid = false;
};

class PerfettoReader {
 public:
  PerfettoReader(Input const& input, std::string_view bytes) : input_(input), bytes_(bytes) {}

  base::Expected<std::vector<model::Trace>> read(std::optional<std::string> const& damage) {
    damage_ = for_each_packet(bytes_, [&](Packet const& packet) { index_.add(packet); });
    if (index_.events == 0) return describe_emptiness(damage);

    read_events(true);
    if (foreign_ && foreign_->is_unsorted()) read_events(false);

    if (too_many_)
      return base::fail(
          "{}: holds more than the {} events that fit into this machine's memory, cut it or use a "
          "larger machine",
          input_.name(), file::events_that_fit());

    std::vector<model::Trace> traces;
    uint32_t processes = 0;
    for (auto& [sequence, process] : own_) processes += process.event_count() > 0 ? 1 : 0;
    bool const has_foreign = foreign_ && (foreign_->event_count() > 0 || own_.empty());
    note_losses(own_.empty() || has_foreign ? foreign().log() : own_.begin()->second.log(), damage);

    int64_t const shift = index_.clocks.first_snapshot().value_or(kOldShiftNs);
    for (auto& [sequence, process] : own_)
      if (process.event_count() > 0 || own_.size() == 1)
        traces.push_back(std::move(process).finish(processes, shift));
    if (has_foreign || traces.empty()) traces.push_back(std::move(foreign()).finish());
    return traces;
  }

 private:
  ForeignEvents& foreign() {
    if (!foreign_) foreign_ = std::make_unique<ForeignEvents>(index_, input_.name(), is_sorted_);
    return *foreign_;
  }

  void read_events(bool is_sorted) {
    is_sorted_ = is_sorted;
    clocks_ = index_.clocks;
    foreign_.reset();
    own_.clear();
    sequences_.clear();
    lost_ = stateless_ = 0;
    for_each_packet(bytes_, [&](Packet const& packet) {
      if (!too_many_) add(packet);
    });
  }

  void add(Packet const& packet) {
    SequenceState& state = sequences_[packet.sequence];
    if (packet.follows_loss && state.was_seen && !packet.is_first) {
      ++lost_;
      state.is_valid = false;
    }
    state.was_seen = true;

    if (packet.is_cleared) {
      state.is_valid = true;
      state.clock = 0;
    }
    if (!packet.defaults.empty()) set_default_clock(packet.defaults, state);
    if (!packet.clock_snapshot.empty())
      clocks_.set_own_clocks(packet.clock_snapshot, packet.sequence);
    if (!packet.thread.empty()) set_reference(packet.thread, state);

    bool const is_event = !packet.track_event.empty() || !packet.gpu_stage.empty();
    if (is_event && !state.is_valid && (packet.flags & PacketNumber::kFlagNeedsState) != 0) {
      ++stateless_;
      return;
    }

    bool const says_something = is_event || !packet.interned.empty() || !packet.defaults.empty() ||
                                !packet.stepscope.empty();
    if (!says_something && !packet.is_cleared) return;

    auto const time = is_event ? time_of(packet, state) : std::nullopt;
    if (index_.own.contains(packet.sequence)) {
      own_.try_emplace(packet.sequence, index_, packet.sequence).first->second.add(packet, time);
      if (is_event) ++own_events_;
    } else {
      foreign().add(packet, time);
    }

    if (is_event)
      too_many_ = own_events_ + (foreign_ ? foreign_->event_count() : 0) > file::events_that_fit();
  }

  static void set_default_clock(std::string_view defaults, SequenceState& state) {
    base::ProtobufReader reader(defaults);
    base::ProtobufField field;
    while (reader.next(field))
      if (field.is_varint(DefaultsNumber::kTimestampClock)) state.clock = field.value;
  }
  static void set_reference(std::string_view thread, SequenceState& state) {
    base::ProtobufReader reader(thread);
    base::ProtobufField field;
    while (reader.next(field))
      if (field.is_varint(TrackNumber::kReferenceUs))
        state.reference_ns = from_us(field.signed_value());
  }
  static int64_t from_us(int64_t us) {
    int64_t ns = 0;
    return __builtin_mul_overflow(us, int64_t{1000}, &ns) ? model::kMaxTime : ns;
  }

  std::optional<int64_t> time_of(Packet const& packet, SequenceState& state) {
    if (packet.has_timestamp)
      return clocks_.to_trace(packet.timestamp, packet.clock != 0 ? packet.clock : state.clock,
                              packet.sequence);

    // Traces from before 2020 tell the time in the event, in µs.
    base::ProtobufReader reader(packet.track_event);
    base::ProtobufField field;
    std::optional<int64_t> time;

    while (reader.next(field)) {
      if (field.is_varint(EventNumber::kAbsoluteUs)) time = from_us(field.signed_value());
      if (!field.is_varint(EventNumber::kDeltaUs)) continue;
      if (__builtin_add_overflow(state.reference_ns, from_us(field.signed_value()),
                                 &state.reference_ns))
        return std::nullopt;
      time = state.reference_ns;
    }
    return time;
  }

  void note_losses(model::ImportLog& log, std::optional<std::string> const& damage) {
    auto const note = [&](uint64_t count, std::string const& what) {
      if (count > 0) log.notes.push_back(base::count_sentence(count, what));
    };

    note(lost_, "times the recorder lost packets: its buffer was full, make it larger");
    note(stateless_, "events refer to names that were lost with earlier packets and were left out");
    for (auto const& [number, count] : index_.not_modelled) {
      note(count,
           fmt::format("packets hold {}, which Stepscope does not read", name_of_message(number)));
      log.unknown_events += count;
    }

    if (damage_.broken > 0)
      log.notes.push_back(fmt::format(
          "{} places hold no packets, the first near byte {}: what follows the last may be missing",
          damage_.broken, *damage_.first_broken_at));
    if (damage_.is_cut)
      log.notes.emplace_back("the file ends in the middle of a packet: what came before was read");
    if (damage) log.notes.push_back(*damage);

    if (index_.clocks.has_unknown_clocks() || clocks_.has_unknown_clocks())
      log.notes.emplace_back(
          "events are timed by clocks that no snapshot compares: their times are taken as they "
          "are");

    log.truncated = log.truncated || damage_.is_cut || damage.has_value();
    log.lost_blocks += damage_.broken;
    log.dropped += lost_ + stateless_;
  }

  base::Expected<std::vector<model::Trace>> describe_emptiness(
      std::optional<std::string> const& damage) {
    if (damage) return base::fail("{}: {}", input_.name(), *damage);

    std::string others;
    for (auto const& [number, count] : index_.not_modelled)
      others += fmt::format("{}{} packets of {}", others.empty() ? "" : ", ", count,
                            name_of_message(number));

    return base::fail(
        "{}: is a trace of Perfetto without track events{}, record what a program does with the "
        "category "
        "track_event or another profiler",
        input_.name(), others.empty() ? std::string() : fmt::format(" (but {})", others));
  }

  Input const& input_;
  std::string_view bytes_;
  TraceIndex index_;
  Clocks clocks_;
  PacketDamage damage_;
  std::map<uint64_t, OwnProcess> own_;
  std::unique_ptr<ForeignEvents> foreign_;
  std::unordered_map<uint64_t, SequenceState, base::HashNumber> sequences_;
  uint64_t lost_ = 0, stateless_ = 0, own_events_ = 0;
  bool too_many_ = false, is_sorted_ = true;
};

/// Fields of a packet that no other file of such messages has.
bool has_field_of_packet(std::string_view bytes, bool is_cut) {
  using P = PacketNumber;
  base::ProtobufReader reader(bytes);
  base::ProtobufField field;
  bool is_packet = false;

  while (reader.next(field)) {
    constexpr uint32_t kMostNumber = 20'000;
    if (field.number > kMostNumber) return false;
    bool const is_number = field.type == base::WireType::kVarint,
               is_message = field.type == base::WireType::kBytes;
    if (field.number == P::kTimestamp || field.number == P::kSequenceId ||
        field.number == P::kSequenceFlags) {
      if (!is_number) return false;
      is_packet = true;
    }

    if (field.number == P::kTrackEvent || field.number == P::kInternedData ||
        field.number == P::kTrackDescriptor || field.number == P::kCompressed) {
      if (!is_message) return false;
      is_packet = true;
    }
  }

  return is_packet && (reader.end() == base::ProtobufReader::End::kWhole ||
                       (is_cut && reader.end() == base::ProtobufReader::End::kCut));
}

/// A Perfetto export in the folder of its own run is no further rank of the run.
void drop_exports(std::vector<std::string>& files) {
  bool const has_run = std::any_of(
      files.begin(), files.end(), [](std::string const& file) { return is_self_describing(file); });
  if (has_run) std::erase_if(files, [](std::string const& file) { return is_perfetto_name(file); });
}

}  // namespace
}  // namespace perfetto

bool is_perfetto_name(std::string_view name) {
  return name.ends_with(".pftrace") || name.ends_with(".perfetto-trace") ||
         name.ends_with(".perfetto") || name.ends_with(".perfetto_trace");
}

bool is_perfetto_trace(Input const& input) {
  base::ProtobufReader reader(input.head());
  base::ProtobufField field;
  constexpr int kMostPackets = 64;
  bool is_known = false;

  for (int i = 0; i < kMostPackets && reader.next(field); ++i) {
    if (!field.is_bytes(1)) return false;
    if (field.is_cut && is_known) break;
    is_known = perfetto::has_field_of_packet(field.bytes, field.is_cut) || is_known;
  }

  return is_known && reader.end() != base::ProtobufReader::End::kBroken;
}

base::Expected<std::vector<model::Trace>> read_perfetto_trace(Input const& input) {
  auto const whole = WholeInput::read(input);
  if (!whole) return base::fail_with(whole);
  return perfetto::PerfettoReader(input, whole->text()).read(whole->damage());
}

Importer perfetto_importer() {
  return {.name = "Perfetto trace",
          .file_suffix = ".pftrace",
          .sniff = is_perfetto_trace,
          .read = read_perfetto_trace,
          .has_name = is_perfetto_name,
          .drop_copies = perfetto::drop_exports};
}

}  // namespace stepscope::import
