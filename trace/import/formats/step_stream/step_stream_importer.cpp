#include "trace/import/formats/step_stream/step_stream_importer.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "trace/base/files/run_folder.h"
#include "trace/model/build/trace_builder.h"
#include "trace/stream/stream_file.h"

namespace stepscope::import {
namespace {

using model::EventKind;
using stream::StepRecord;
using stream::TimePart;

constexpr double kBytesPerMib = 1 << 20;

class StepsTrace {
 public:
  StepsTrace(model::TraceInfo info, stream::StreamRecords records) : records_(std::move(records)) {
    info.facts.emplace_back(stream::kSumsFact, "sums of each step, as stepscope record --stream");
    builder_.info() = std::move(info);
    thread_ = builder_.add_track({model::TrackKind::kThread, "steps", 0});
  }

  model::Trace build() && {
    for (model::Device const& device : records_.devices) builder_.add_device(device);
    int64_t count = 1;
    for (StepRecord const& record : records_.steps) {
      if (!last_end_ns_ || record.begin_ns >= *last_end_ns_) {
        // Records of very many steps are made up.
        count = record.steps <= apart_left_ ? int64_t{record.steps} : 1;
        apart_left_ -= static_cast<uint64_t>(count == 1 ? 0 : count);
        add_steps(record, count);
        last_end_ns_ = record.end_ns();
      }
      // Steps that share a record have the mean of its parts each.
      int64_t const parts = record.steps == static_cast<uint64_t>(count) ? count : 1;
      for (int64_t i = 0; i < parts; ++i) add_ops(record, i, parts);
      add_samples(record);
    }

    model::ImportLog& log = builder_.log();
    if (shared_ > 0)
      log.notes.push_back(fmt::format(
          "{} short steps share records: their lengths are means, and one split is that of all",
          shared_));
    if (records_.damaged > 0)
      log.notes.push_back(
          fmt::format("{} records are damaged and were left out", records_.damaged));
    log.lost_blocks += records_.damaged;
    log.truncated = !records_.has_ended;
    return std::move(builder_).finish();
  }

 private:
  struct OfDevice {
    model::TrackId stream;
    std::map<std::string, model::TrackId> counters;
  };

  void add_steps(StepRecord const& record, int64_t count) {
    model::StringId const name = builder_.intern("step");
    int64_t const each = record.length_ns / count;
    for (int64_t i = 0; i < count; ++i)
      builder_.events(thread_).add(EventKind::kStep, record.begin_ns + i * each, each, name, 0,
                                   model::StepDetail{record.step + i});
    if (record.steps > 1) shared_ += record.steps;

    if (int64_t const ns = record.part(TimePart::kInput) / count; ns > 0)
      for (int64_t i = 0; i < count; ++i)
        builder_.events(thread_).add(EventKind::kInputWait, record.begin_ns + i * each, ns,
                                     builder_.intern("waits for data"));
    builder_.log().dropped += record.dropped;
  }

  OfDevice& of_device(int32_t id) {
    auto const [place, is_new] = devices_.try_emplace(id);
    if (is_new)
      place->second.stream =
          builder_.add_track({model::TrackKind::kStream, "sums of each step", 0, id});
    return place->second;
  }

  /// What the device did in the i-th of so many steps.
  void add_ops(StepRecord const& record, int64_t i, int64_t count) {
    if (record.device < 0) return;
    model::EventBatch& events = builder_.events(of_device(record.device).stream);
    int64_t at = record.begin_ns + i * (record.length_ns / count) +
                 record.part(TimePart::kInput) / count + record.part(TimePart::kAllocation) / count;
    auto const take = [&](TimePart part) {
      int64_t const ns = record.part(part) / count;
      return std::pair(std::exchange(at, at + ns), ns);
    };

    if (auto const [begin, ns] = take(TimePart::kCopy); ns > 0)
      events.add(EventKind::kMemcpy, begin, ns, builder_.intern("copies that nothing hides"), 0,
                 model::CopyDetail{.bytes = record.copied_in_bytes / static_cast<uint64_t>(count)});
    if (auto const [begin, ns] = take(TimePart::kCompute); ns > 0)
      events.add(EventKind::kKernel, begin, ns, builder_.intern("compute"), 0,
                 model::KernelDetail{});
    if (auto const [begin, ns] = take(TimePart::kCommunication); ns > 0)
      events.add(EventKind::kCollective, begin, ns,
                 builder_.intern("communication that nothing hides"), 0, model::CollectiveDetail{});
  }

  void add_samples(StepRecord const& record) {
    if (record.device < 0) return;
    OfDevice& device = of_device(record.device);

    auto const mib = [](int64_t bytes) { return static_cast<double>(bytes) / kBytesPerMib; };
    if (record.peak_bytes >= 0)
      sample(device, record, "most memory in a step (MiB)", mib(record.peak_bytes));
    if (record.reserved_bytes >= 0)
      sample(device, record, "memory from the system (MiB)", mib(record.reserved_bytes));
    if (record.collectives > 0)
      sample(device, record, "communicated in a step (MiB)",
             static_cast<double>(record.comm_bytes) / record.steps / kBytesPerMib);
    if (record.power_mw >= 0)
      sample(device, record, "power (W)", static_cast<double>(record.power_mw) / 1000);
  }

  void sample(OfDevice& device, StepRecord const& record, std::string const& name, double value) {
    auto const [place, is_new] = device.counters.try_emplace(name);
    if (is_new)
      place->second = builder_.add_track({model::TrackKind::kCounter, name, 0, record.device});
    builder_.events(place->second)
        .add(EventKind::kSample, record.begin_ns, 0, builder_.intern(name), 0,
             model::SampleDetail{value});
  }

  stream::StreamRecords records_;
  model::TraceBuilder builder_;
  model::TrackId thread_;
  std::map<int32_t, OfDevice> devices_;
  std::optional<int64_t> last_end_ns_;  ///< of the steps that are events
  uint64_t shared_ = 0;
  uint64_t apart_left_ = uint64_t{1} << 24;  ///< steps that become events of their own
};

}  // namespace

base::Expected<model::Trace> read_step_stream(Input const& input) {
  auto head = stream::decode_header(input.bytes(), input.name());
  if (!head) return base::fail_with(head);
  stream::StreamRecords records;
  stream::decode_records(input.bytes().subspan(head->bytes), records);
  return StepsTrace(std::move(head->info), std::move(records)).build();
}

Importer step_stream_importer() {
  return {.name = "stepscope stream",
          .file_suffix = base::kStreamSuffix,
          .sniff = [](Input const& input) { return stream::is_stream(input.bytes()); },
          .read = [](Input const& input) { return one_trace(read_step_stream(input)); },
          .is_self_describing = true};
}

}  // namespace stepscope::import
