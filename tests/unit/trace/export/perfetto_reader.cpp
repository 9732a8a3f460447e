#include "tests/unit/trace/export/perfetto_reader.h"

#include <fstream>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <perfetto_packets.pb.h>

namespace stepscope::exporting::testing {
namespace {

using perfetto_packets::TrackEvent;

struct Sequence {
  bool is_begun = false;
  std::map<uint64_t, std::string> categories, names, annotations;
};

class Reader {
 public:
  ReadTrace read(perfetto_packets::Trace const& trace) {
    for (perfetto_packets::TracePacket const& packet : trace.packet()) add(packet);
    for (auto const& [track, open] : open_)
      EXPECT_TRUE(open.empty()) << read_.path_of(track) << ": slices that never end";
    read_.packets = static_cast<uint64_t>(trace.packet_size());
    return std::move(read_);
  }

 private:
  void add(perfetto_packets::TracePacket const& packet) {
    ASSERT_NE(packet.trusted_packet_sequence_id(), 0U);
    Sequence& sequence = sequences_[packet.trusted_packet_sequence_id()];

    EXPECT_EQ(packet.first_packet_on_sequence(), !sequence.is_begun);
    if ((packet.sequence_flags() & 1U) != 0) sequence = {true, {}, {}, {}};
    for (auto const& entry : packet.interned_data().event_categories())
      intern(sequence.categories, entry);
    for (auto const& entry : packet.interned_data().event_names()) intern(sequence.names, entry);
    for (auto const& entry : packet.interned_data().debug_annotation_names())
      intern(sequence.annotations, entry);

    for (auto const& clock : packet.clock_snapshot().clocks())
      read_.clocks[clock.clock_id()] = static_cast<int64_t>(clock.timestamp());
    if (packet.has_track_descriptor()) describe(packet.track_descriptor());
    if (packet.has_track_event()) add_event(packet, sequence);
  }

  static void intern(std::map<uint64_t, std::string>& names,
                     perfetto_packets::InternedName const& entry) {
    EXPECT_NE(entry.iid(), 0U);
    EXPECT_TRUE(names.emplace(entry.iid(), entry.name()).second) << entry.name() << " twice";
  }
  static std::string known(std::map<uint64_t, std::string> const& names, uint64_t iid) {
    auto const found = names.find(iid);
    EXPECT_NE(found, names.end()) << "unknown name " << iid;
    return found == names.end() ? "" : found->second;
  }

  void describe(perfetto_packets::TrackDescriptor const& descriptor) {
    ReadTrack track;
    track.name = descriptor.has_thread() ? descriptor.thread().thread_name() : descriptor.name();
    track.parent = descriptor.parent_uuid();

    if (descriptor.has_process()) {
      EXPECT_TRUE(pids_.emplace(descriptor.process().pid(), descriptor.uuid()).second)
          << "two processes of one id";
      track.pid = descriptor.process().pid();
      track.labels = {descriptor.process().process_labels().begin(),
                      descriptor.process().process_labels().end()};
      EXPECT_EQ(descriptor.process().process_name(), track.name);
    }

    if (descriptor.has_thread()) {
      EXPECT_TRUE(threads_.emplace(descriptor.thread().pid(), descriptor.thread().tid()).second)
          << "two threads of one id";
      track.tid = descriptor.thread().tid();
      ASSERT_TRUE(pids_.contains(descriptor.thread().pid()));
      track.parent = pids_[descriptor.thread().pid()];
    }

    track.is_counter = descriptor.has_counter();
    track.unit = descriptor.counter().unit();

    EXPECT_TRUE(track.parent == 0 || read_.tracks.contains(track.parent)) << track.name;
    EXPECT_NE(descriptor.uuid(), 0U);
    EXPECT_TRUE(read_.tracks.emplace(descriptor.uuid(), std::move(track)).second)
        << descriptor.name() << " twice";
  }

  static std::string value_of(perfetto_packets::DebugAnnotation const& annotation) {
    if (annotation.has_uint_value()) return fmt::format("{}", annotation.uint_value());
    if (annotation.has_int_value()) return fmt::format("{}", annotation.int_value());
    if (annotation.has_double_value()) return fmt::format("{}", annotation.double_value());
    EXPECT_TRUE(annotation.has_string_value());
    return annotation.string_value();
  }

  void add_event(perfetto_packets::TracePacket const& packet, Sequence const& sequence) {
    TrackEvent const& event = packet.track_event();
    EXPECT_TRUE(sequence.is_begun);
    EXPECT_NE(packet.sequence_flags() & 2U, 0U);
    ASSERT_TRUE(read_.tracks.contains(event.track_uuid()));
    ASSERT_TRUE(packet.has_timestamp());

    auto const time = static_cast<int64_t>(packet.timestamp());
    EXPECT_GE(time, 0);

    ReadTrack& track = read_.tracks[event.track_uuid()];
    EXPECT_EQ(track.is_counter, event.type() == TrackEvent::TYPE_COUNTER) << track.name;
    if (event.type() == TrackEvent::TYPE_COUNTER)
      return void(track.samples.emplace_back(time, event.double_counter_value()));

    auto const [last, is_new] = last_.try_emplace(event.track_uuid(), time);
    EXPECT_LE(last->second, time) << track.name;
    last->second = time;

    std::vector<ReadEvent>& open = open_[event.track_uuid()];
    if (event.type() == TrackEvent::TYPE_SLICE_END) {
      ASSERT_FALSE(open.empty()) << track.name << ": an end without a begin";
      open.back().dur = time - open.back().start;
      track.slices.push_back(std::move(open.back()));
      return open.pop_back();
    }

    ReadEvent read;
    read.start = time;
    read.sequence = packet.trusted_packet_sequence_id();
    for (uint64_t const iid : event.category_iids())
      read.category += known(sequence.categories, iid);
    if (event.has_name_iid()) read.name = known(sequence.names, event.name_iid());
    if (event.has_name()) read.name = event.name();
    for (auto const& annotation : event.debug_annotations())
      read.details[known(sequence.annotations, annotation.name_iid())] = value_of(annotation);
    read.flows = {event.flow_ids().begin(), event.flow_ids().end()};

    if (event.type() == TrackEvent::TYPE_INSTANT) return track.instants.push_back(std::move(read));
    ASSERT_EQ(event.type(), TrackEvent::TYPE_SLICE_BEGIN);
    open.push_back(std::move(read));
  }

  ReadTrace read_;
  std::map<uint32_t, Sequence> sequences_;
  std::map<int32_t, uint64_t> pids_;
  std::set<std::pair<int32_t, int32_t>> threads_;
  std::map<uint64_t, std::vector<ReadEvent>> open_;
  std::map<uint64_t, int64_t> last_;
};

}  // namespace

std::string ReadTrace::path_of(uint64_t uuid) const {
  ReadTrack const& track = tracks.at(uuid);
  if (track.parent == 0) return track.name;
  // A lane below its thread.
  if (tracks.at(track.parent).tid) return path_of(track.parent);
  return path_of(track.parent) + " / " + track.name;
}

ReadTrace read_perfetto(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  perfetto_packets::Trace trace;
  EXPECT_TRUE(trace.ParseFromIstream(&file)) << path;
  return Reader().read(trace);
}

}  // namespace stepscope::exporting::testing
