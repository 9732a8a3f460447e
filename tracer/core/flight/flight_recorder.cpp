#include "tracer/core/flight/flight_recorder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include <unistd.h>

#include "trace/base/files/run_folder.h"
#include "trace/base/format.h"
#include "tracer/core/flight/asked_signal.h"
#include "tracer/core/process/trace_files.h"
#include "tracer/core/unforked_memory.h"
#include "tracer/requests/messages.h"

namespace stepscope::tracer {
namespace {

/// How often what is too old is given up.
constexpr int64_t kForgetPeriodNs = 100'000'000;
/// What happens again and again is written so often at most for each kind, as far apart from each
/// other as the ring is long, or as this.
constexpr int kMostDue = 20;
constexpr int64_t kQuietNs = 10'000'000'000;
/// From a cause to the last rank that writes its ring: it is announced, heard of, and heard of
/// again.
constexpr int64_t kSparePeriods = 6;
/// Calls that allocate may take this part of the bound, uncompressed.
constexpr size_t kMemoryShare = 4;

/// Bytes of a name in a reason, which goes into messages.
constexpr size_t kLongestName = 200;

std::string step_text(int64_t step) {
  return "step " +
         (step < 0 ? std::to_string(step) : base::format_count(static_cast<uint64_t>(step)));
}

/// Facts that are the process's in every trace are replaced.
void set_fact(model::TraceInfo& info, std::string const& name, std::string text) {
  auto const found = std::find_if(info.facts.begin(), info.facts.end(),
                                  [&](auto const& fact) { return fact.first == name; });
  if (found != info.facts.end())
    found->second = std::move(text);
  else
    info.facts.emplace_back(name, std::move(text));
}

}  // namespace

FlightRecorder::FlightRecorder(CaptureOptions const& capture, TraceStore& store)
    : capture_(capture), options_(*capture.ring), store_(store), blocks_(options_.bytes) {}

file::TraceWriter FlightRecorder::writer() {
  return file::TraceWriter::to(blocks_, kUnforkedBlocks);
}

void FlightRecorder::begin(FileThread& keeper) {
  keeper_ = &keeper;
  store_.keep_ring(&keeper);
  store_.add_watcher(*this);
  if (options_.signal != 0) watch_signal(options_.signal);
}

int64_t FlightRecorder::latest_step() const {
  return steps_.latest() == nullptr ? -1 : steps_.latest()->index;
}

/// Whole steps of at least the time that was asked for, up to where the program still went on.
int64_t FlightRecorder::wanted_since_ns() const {
  int64_t since = blocks_.complete_since_ns();
  int64_t const until = hang_was_seen_ ? last_end_ns_ : latest_ns_;
  if (options_.ns) since = std::max(since, until - *options_.ns - steps_.usual_ns());
  if (!options_.steps) return since;
  return std::max(since, steps_.begin_of_last(*options_.steps + 1).value_or(INT64_MIN));
}

int64_t FlightRecorder::first_step() const {
  auto const begin = steps_.first_whole(wanted_since_ns());
  return begin ? begin->index : -1;
}

void FlightRecorder::see(model::TrackId track, RowBatch const& rows) {
  memory_.add(track, rows);
  // Counters are read on, whatever the program does.
  if (!rows.empty() && rows.kind.back() != model::EventKind::kSample)
    latest_ns_ = std::max(latest_ns_, rows.start.back());

  auto const& details = std::get<UnforkedColumn<model::StepDetail>>(rows.details);
  auto detail = details.begin();
  for (size_t row = 0; detail != details.end() && row < rows.size(); ++row)
    if (rows.kind[row] == model::EventKind::kStep)
      see_step({track, rows.start[row], rows.dur[row], (detail++)->index});
  if (options_.on_nan) see_notes(rows);
}

void FlightRecorder::see_step(SeenStep const& step) {
  int64_t const usual = steps_.add(step);
  last_end_ns_ = std::max(last_end_ns_, step.end_ns());
  hang_was_seen_ = false;

  double const ratio =
      usual == 0 ? 0 : static_cast<double>(step.dur_ns) / static_cast<double>(usual);
  if (options_.slow_step == 0 || ratio <= options_.slow_step) return;
  is_due(Cause::kSlowStep,
         fmt::format("{} took {}, {:.2f} times the usual {}", step_text(step.index),
                     base::format_duration(step.dur_ns), ratio, base::format_duration(usual)));
}

/// The mark of a note has its number, whatever that is.
void FlightRecorder::see_notes(RowBatch const& rows) {
  auto const& details = std::get<UnforkedColumn<model::RangeDetail>>(rows.details);
  auto detail = details.begin();
  for (size_t row = 0; detail != details.end() && row < rows.size(); ++row) {
    if (model::kind_info(rows.kind[row]).table != model::DetailTable::kRanges) continue;
    model::RangeDetail const& note = *detail++;

    bool const is_number = rows.kind[row] != model::EventKind::kAnnotatedMark ||
                           note.payload_type != model::NumberType::kReal ||
                           std::isfinite(std::bit_cast<double>(note.payload));
    if (is_number) continue;
    is_due(Cause::kNote, fmt::format("the program noted a {} that is not a finite number",
                                     base::valid_utf8(store_.text(rows.name[row]), kLongestName)));
    return;
  }
}

void FlightRecorder::look_for_hang() {
  if (!hangs() || !may_be_due(Cause::kHang)) return;
  store_.flush(now_ns_, true);  // steps may have ended that were not seen
  if (!hangs()) return;

  hang_was_seen_ = true;  // decides where the ring begins
  hang_was_seen_ = is_due(Cause::kHang, fmt::format("no step has ended for {}, since {}",
                                                    base::format_duration(now_ns_ - last_end_ns_),
                                                    step_text(latest_step())));
}

/// People who send a signal know that they have sent one before.
bool FlightRecorder::may_be_due(Cause cause) const {
  OfCause const& own = causes_[static_cast<size_t>(cause)];
  bool const is_again = now_ns_ < own.quiet_until_ns || own.due == kMostDue;
  return cause == Cause::kSignal || (!is_again && now_ns_ >= quiet_until_ns_);
}

bool FlightRecorder::hangs() const {
  return options_.hang_ns > 0 && last_end_ns_ >= 0 && !hang_was_seen_ &&
         now_ns_ - last_end_ns_ >= options_.hang_ns;
}

/// Named for the step: ranks that see the same at once have one name for it. False when it is not
/// written.
bool FlightRecorder::is_due(Cause cause, std::string reason) {
  if (!may_be_due(cause)) {
    ++left_out_;
    return false;
  }
  OfCause& own = causes_[static_cast<size_t>(cause)];
  own.quiet_until_ns = now_ns_ + options_.ns.value_or(kQuietNs);
  ++own.due;
  if (due_ring_) {
    due_ring_->reason += "; " + reason;
    return true;
  }

  std::string const base_name = base::name_of_ring(latest_step(), epoch_ns() / 1'000'000'000);
  std::string name = base_name;
  for (int i = 2; ::access((capture_.folder + "/" + name).c_str(), F_OK) == 0; ++i)
    name = fmt::format("{}-{}", base_name, i);

  unwritten_reason_ = reason;
  due_ring_ = AskedRing{std::move(name), std::move(reason), first_step()};
  return true;
}

/// What other processes see of the same happening comes soon after, and is in this ring.
void FlightRecorder::write(AskedRing asked) {
  if (asked.reason != kAskedByPerson)
    quiet_until_ns_ = now_ns_ + kSparePeriods * request_period_ns(capture_.world_size);
  asked_.push_back(std::move(asked));
}

std::optional<AskedRing> FlightRecorder::take_due() { return std::exchange(due_ring_, {}); }

void FlightRecorder::names_begin_anew(Renamed const& renamed) {
  memory_.rename(renamed);
  keeper_->submit(0, [this](file::TraceWriter&) {
    blocks_.begin_names();
    return base::Expected<void>();
  });
}

void FlightRecorder::forget_old() {
  if (now_ns_ < next_forget_ns_) return;
  next_forget_ns_ = now_ns_ + kForgetPeriodNs;

  // Ranks that hear of a ring a little later have its first steps, too.
  int64_t const spare_ns = kSparePeriods * request_period_ns(capture_.world_size);
  int64_t from = INT64_MIN;
  if (options_.ns)  // in a hang, of the time before it
    from = latest_ns_ - options_.hang_ns - *options_.ns - steps_.usual_ns() - spare_ns;
  if (options_.steps)
    if (auto const begin = steps_.begin_of_last(*options_.steps + 1))
      from = std::max(from, *begin - spare_ns);
  if (memory_.bytes() > options_.bytes / kMemoryShare) from = std::max(from, memory_.middle_ns());
  blocks_.keep_from(from);

  // While a ring is on its way, what it begins with stays.
  if (writing_ != nullptr) return;
  forgotten_ns_ = std::max({forgotten_ns_, from, blocks_.complete_since_ns()});
  steps_.forget_before(forgotten_ns_);
  memory_.forget_before(forgotten_ns_);
  while (dropped_.size() > 1 && dropped_[1].first < forgotten_ns_) dropped_.pop_front();
}

void FlightRecorder::note_dropped(uint64_t dropped) {
  if (dropped_.empty() || dropped_.back().second != dropped)
    dropped_.emplace_back(now_ns_, dropped);
}

void FlightRecorder::look(int64_t now_ns, uint64_t dropped) {
  now_ns_ = now_ns;
  note_dropped(dropped);
  forget_old();
  look_for_hang();
  if (options_.signal != 0 && take_asked_signal()) is_due(Cause::kSignal, "a signal asked for it");

  if (output_) end_output();
  if (writing_ != nullptr && !output_ && writing_->is_copied.load(std::memory_order_acquire))
    begin_output();
  if (writing_ != nullptr || asked_.empty() || written_) return;

  AskedRing asked = std::move(asked_.front());
  asked_.pop_front();
  begin_writing(std::move(asked));
}

/// All rows that have ended are handed to the keeper, which copies its list of blocks behind them;
/// those that have not are copied here.
void FlightRecorder::begin_writing(AskedRing asked) {
  store_.flush(now_ns_, true);
  unwritten_reason_.clear();
  auto const writing = std::make_shared<Writing>();
  writing->asked = std::move(asked);
  store_.for_each_open(now_ns_, [&](model::TrackId track, RowBatch rows) {
    writing->ring.open.emplace_back(track, std::move(rows));
  });

  keeper_->submit(0, [this, writing](file::TraceWriter&) {
    try {
      writing->ring.blocks = blocks_.copy();
      writing->has_blocks = true;
    } catch (...) {
      // For lack of memory.
    }
    writing->is_copied.store(true, std::memory_order_release);
    return base::Expected<void>();
  });
  writing_ = writing;
}

/// Where the file begins, and what it needs of the time before.
void FlightRecorder::complete(Writing& writing) {
  RingFile& ring = writing.ring;
  bool const has_first = writing.asked.first_step > 0;
  int64_t since = std::max(ring.blocks.complete_since_ns, forgotten_ns_);
  if (!has_first) since = std::max(since, wanted_since_ns());

  std::optional<RecentSteps::Begin> begin;
  bool const is_all = ring.blocks.complete_since_ns == INT64_MIN && since <= 0 && !has_first;
  if (!is_all) {
    begin = steps_.first_whole(since, writing.asked.first_step);
    if (!begin) begin = steps_.first_whole(since);
    ring.begin_ns = begin ? begin->ns : since;
    if (ring.begin_ns != INT64_MIN) ring.live = memory_.live_at(ring.begin_ns);
  }

  if (int64_t const usual = steps_.usual_ns(); usual > 0) ring.least_open_step_ns = usual;
  describe(writing, begin);
}

void FlightRecorder::describe(Writing& writing, std::optional<RecentSteps::Begin> begin) const {
  RingFile& ring = writing.ring;
  ring.info = store_.info;
  ring.devices = store_.devices();
  ring.tracks = store_.tracks();
  ring.log = store_.log;

  // The losses of earlier times left no hole in this file.
  for (model::Track& track : ring.tracks) track.dropped = 0;
  uint64_t before = 0;
  for (auto const& [ns, dropped] : dropped_)
    if (ns < ring.begin_ns) before = dropped;
  uint64_t const dropped = dropped_.empty() ? 0 : dropped_.back().second - before;
  ring.log.dropped += dropped;
  if (dropped > 0)
    ring.log.notes.push_back(
        fmt::format("{} events did not fit the buffers and were lost: record with a larger {}",
                    dropped, kBufferSetting));

  set_fact(ring.info, base::kRingFact, tracer::describe(options_));
  set_fact(ring.info, base::kWrittenBecauseFact, writing.asked.reason);
  if (begin && steps_.latest() != nullptr)
    set_fact(ring.info, "recorded steps", fmt::format("{}:{}", begin->index, latest_step()));
  if (ring.blocks.is_cut_by_bytes && (options_.ns || options_.steps))
    set_fact(ring.info, "ring was cut",
             fmt::format("it holds {}, as {} were full: give --ring more, such as {},4GB",
                         base::format_duration(latest_ns_ - ring.begin_ns),
                         base::format_bytes(options_.bytes), options_.ns ? "60s" : "50steps"));
  if (left_out_ > 0)
    set_fact(ring.info, "causes without a ring of their own",
             fmt::format("{}, soon after another one or after {} rings", left_out_, kMostDue));
}

void FlightRecorder::begin_output() {
  if (!writing_->has_blocks) {
    written_ = WrittenRing{{}, {0, 0, "no memory for a copy of what is kept, free some"}};
    writing_.reset();
    return;
  }

  complete(*writing_);
  threads_ = 1;
  auto output =
      FileThread::begin([this, writing = writing_]() -> base::Expected<file::TraceWriter> {
        auto created = create_trace_file(capture_, capture_.folder + "/" + writing->asked.name);
        if (!created) return base::fail_with(created);
        writing->path = created->path;
        return std::move(created->writer);
      });

  if (!output) {
    threads_ = 0;
    written_ = WrittenRing{{}, {0, 0, output.error().message}};
    writing_.reset();
    return;
  }

  output_ = std::move(*output);
  output_->submit(0, [writing = writing_](file::TraceWriter& writer) -> base::Expected<void> {
    auto const events = write_ring(writing->ring, writer);
    if (!events) return base::fail_with(events);
    writing->events = *events;
    return {};
  });
  output_->begin_to_end();
}

/// Once the thread has ended: it closes the file, which may take long on a file server.
void FlightRecorder::end_output() {
  if (!output_->has_ended()) return;
  written_.emplace();
  auto const opened = output_->wait_until_open();
  written_->result = output_->finish();
  if (!opened) written_->result.failure = opened.error().message;

  written_->path = writing_->path;
  written_->result.written_rows = writing_->events;
  output_.reset();
  threads_ = 0;
  writing_.reset();
}

std::optional<WrittenRing> FlightRecorder::take_written() {
  return std::exchange(written_, std::nullopt);
}

void FlightRecorder::wait_for_output() {
  if (!output_) return;
  output_->end_with_index();
  end_output();
}

std::optional<WrittenRing> FlightRecorder::finish_writing() {
  if (writing_ != nullptr) {
    keeper_->wait_until_idle();
    if (!output_) begin_output();
    wait_for_output();
  }
  return take_written();
}

std::optional<WrittenRing> FlightRecorder::write_last(std::string reason, int64_t now_ns,
                                                      uint64_t dropped) {
  now_ns_ = now_ns;
  note_dropped(dropped);
  if (!unwritten_reason_.empty()) reason = fmt::format("{}; then {}", unwritten_reason_, reason);
  begin_writing({kLastRing, std::move(reason)});
  keeper_->wait_until_idle();
  if (writing_->has_blocks && writing_->ring.blocks.events.empty()) {
    writing_.reset();
    return {};
  }

  begin_output();
  wait_for_output();
  return take_written();
}

void FlightRecorder::release() {
  blocks_.clear();
  steps_ = RecentSteps();
  memory_ = RecentMemory();
  leave_signal();
}

}  // namespace stepscope::tracer
