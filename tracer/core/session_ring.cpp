// The session that has no end: it keeps a ring (flight/flight_recorder.h), streams sums of steps
// (stream/stream_recorder.h), or both.
#include <algorithm>
#include <utility>

#include "trace/base/files/run_folder.h"
#include "tracer/core/process/process_info.h"
#include "tracer/core/session.h"
#include "tracer/core/threads/short_slices.h"

namespace stepscope::tracer {

base::Expected<file::TraceWriter> Session::begin_output() {
  return is_endless() ? begin_ring() : create_file();
}

/// As create_file(), but files are made when there is a reason to.
base::Expected<file::TraceWriter> Session::begin_ring() {
  take_usual_slices();
  store_.info = describe_process(options_, tick_source_, origin_epoch_ns_);
  if (options_.ring) store_.info.facts.emplace_back(base::kRingFact, describe(*options_.ring));
  return flight_ ? flight_->writer() : StreamRecorder::writer_to_nowhere();
}

void Session::look_at_what_passes() {
  if (store_.has_many_names() && !(flight_ && flight_->needs_names())) begin_names_anew();
  if (stream_) stream_->look(clock_.latest_ns(), dropped_);
  if (flight_) look_at_ring();
}

void Session::begin_names_anew() {
  store_.begin_names_anew([this](RowWatcher::Renamed const& renamed) {
    for (auto const& source : sources_) source->names_begin_anew(renamed);
  });
}

void Session::look_at_ring() {
  flight_->look(clock_.latest_ns(), dropped_);
  if (int64_t const step = flight_->latest_step(); step > window_.latest_step()) {
    window_.thread_begins_step(step);
    if (requests_) requests_->keeps({flight_->first_step(), step});
  }
  if (auto const written = flight_->take_written()) add_ring(*written);

  if (auto asked = requests_ ? requests_->take_ring() : std::nullopt)
    flight_->write({std::move(asked->ring), std::move(asked->reason), asked->steps.first});

  auto due = flight_->take_due();
  if (!due) return;
  if (requests_ && requests_->problem().empty())
    requests_->announce({.kind = Request::Kind::kRing,
                         .steps = {std::max<int64_t>(due->first_step, 0), INT64_MAX},
                         .ring = std::move(due->name),
                         .reason = std::move(due->reason)});
  else
    flight_->write(std::move(*due));
}

void Session::add_ring(WrittenRing const& written) {
  report_.events += written.result.written_rows;
  if (std::string const& failure = written.result.failure; !failure.empty()) {
    if (report_.problem.empty())
      report_.problem = fmt::format("a ring could not be written: {}", failure);
    if (requests_) requests_->ring_failed(failure);
    return;
  }

  report_.path = written.path;
  if (requests_) requests_->window_was_written(written.path);
}

bool Session::begin_stream() {
  if (!stream_ || stream_->begin(flight_ ? nullptr : output_.get())) return true;
  report_.failure = "the system gives no thread for the stream of steps";
  return false;
}

/// The ring first: the stream's file system may hang.
void Session::close_endless() {
  if (flight_) {
    close_ring();
    if (stream_) close_stream();
  } else {
    close_stream();
    close_file();
  }
}

void Session::close_stream() {
  if (!flight_) store_.flush(clock_.latest_ns(), true);  // else it has been
  stream_->finish(dropped_);
  if (!flight_) report_.path = stream_->path();
  if (report_.problem.empty() && !stream_->failure().empty())
    report_.problem = fmt::format("steps are missing in the stream: {}", stream_->failure());
}

void Session::close_ring() {
  if (auto const written = flight_->finish_writing()) add_ring(*written);
  dropped_ = 0;
  for (auto const& source : sources_) {
    dropped_ += source->dropped();
    add_problem(*source);
  }
  if (auto const written = flight_->write_last(end_reason_.load(), clock_.latest_ns(), dropped_))
    add_ring(*written);

  for (auto const& source : sources_) add_losses(*source);
  FileThread::Result const kept = output_->finish();
  report_.unwritten += kept.lost_rows;
  if (!kept.failure.empty()) report_.failure = kept.failure;
  output_.reset();
  flight_->release();
}

}  // namespace stepscope::tracer
