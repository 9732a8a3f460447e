#include "run_loading/team/helper.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>
#include <utility>

#include "analyzer/metrics/steps/skeleton_rows.h"
#include "run_loading/process_reading.h"
#include "run_loading/team/team.h"
#include "trace/import/open/device_collectives.h"
#include "trace/import/open/open_run.h"

namespace stepscope::run_loading {
namespace {

using base::Expected;
using import::RankSource;
using import::RemoteTrace;

tl::unexpected<base::Error> no_question() {
  return base::fail("a question of process 0 cannot be read");
}

RemoteTrace::Facts facts_of(import::TraceSource const& source) {
  RemoteTrace::Facts facts;
  facts.head = {source.info(),
                source.log(),
                {source.tracks().begin(), source.tracks().end()},
                {source.devices().begin(), source.devices().end()}};

  facts.event_counts = source.event_counts();
  facts.kinds = source.kinds();
  facts.time_range = source.time_range();
  facts.is_rank_by_name = source.is_rank_by_name();
  return facts;
}

/// A number of the first bytes of a file: a file that grows keeps it.
uint64_t head_of(std::string const& path) {
  constexpr size_t kHead = size_t{1} << 12;
  std::string head(kHead, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return std::hash<std::string>{}(head);
}

/// A source of this process, as process 0 sees it.
class OpenedHere final : public import::RemoteTrace {
 public:
  explicit OpenedHere(import::TraceSource source)
      : RemoteTrace(facts_of(source)), source_(std::move(source)) {}

  [[nodiscard]] Expected<std::vector<file::StepSpan>> steps() const override {
    return source_.steps();
  }
  [[nodiscard]] Expected<model::Trace> copy(file::Selection const& selection) const override {
    auto trace = source_.copy(selection);
    source_.release_pages();
    return trace;
  }
  [[nodiscard]] std::optional<model::Trace> read_kinds(uint64_t kinds) const override {
    auto trace = source_.read_kinds(kinds);
    source_.release_pages();
    return trace;
  }
  [[nodiscard]] Expected<import::CollectivesOfDevices> collectives() const override {
    auto collectives = import::read_collectives(source_);
    source_.release_pages();
    return collectives;
  }

 private:
  import::TraceSource source_;
};

/// The source as process 0 has it in its run.
RankSource placed(std::shared_ptr<RemoteTrace const> opened, PlaceInRun const& place) {
  import::TraceSource source(std::move(opened));
  source.assume_rank(place.info.rank);
  source.assume_world_size(place.info.world_size);
  if (!place.drift.is_none()) source.correct_drift(place.drift);
  return {std::move(source), place.offset_ns, place.file, place.rank_drift};
}

}  // namespace

std::shared_ptr<Helper::Own> Helper::find_own(uint64_t number) {
  std::lock_guard const lock(mutex_);
  auto const found = own_.find(number);
  return found == own_.end() ? nullptr : found->second;
}

Expected<FoundFiles> find_here(std::string const& path) {
  auto const files = import::find_run_files(path);
  if (!files) return base::fail_with(files);

  FoundFiles found{{}, files->notes};
  for (std::string const& file : files->files) {
    std::error_code error;
    uint64_t const bytes = std::filesystem::file_size(file, error);
    // What is not there may be with another process.
    if (!error) found.files.push_back({file, bytes, head_of(file)});
  }
  return found;
}

Expected<std::string> Helper::find(std::string_view question) {
  std::string path;
  if (!unpack_fields(question, path)) return no_question();
  auto const found = find_here(path);
  if (!found) return base::fail_with(found);
  return packed_fields(*found);
}

Expected<std::string> Helper::open(std::string_view question) {
  std::string path;
  if (!unpack_fields(question, path)) return no_question();
  auto sources = import::open_files({path}, {0, 0});
  if (!sources.front()) return base::fail_with(sources.front());

  std::vector<OpenedThere> opened;
  for (import::TraceSource& source : *sources.front()) {
    auto own = std::make_shared<Own>();
    own->opened = std::make_shared<OpenedHere>(std::move(source));
    std::lock_guard const lock(mutex_);
    opened.push_back({next_, own->opened->facts()});
    own_.emplace(next_++, std::move(own));
  }
  return packed_fields(opened);
}

Expected<std::string> Helper::steps(std::string_view question) {
  uint64_t number = 0;
  auto const own = unpack_fields(question, number) ? find_own(number) : nullptr;
  if (!own) return no_question();
  auto const steps = own->opened->steps();
  if (!steps) return base::fail_with(steps);
  return packed_fields(*steps);
}

Expected<std::string> Helper::copy(std::string_view question) {
  uint64_t number = 0;
  file::Selection selection;
  auto const own = unpack_fields(question, number, selection) ? find_own(number) : nullptr;
  if (!own) return no_question();
  auto const trace = own->opened->copy(selection);
  if (!trace) return base::fail_with(trace);
  return model::packed_trace(*trace);
}

Expected<std::string> Helper::read_kinds(std::string_view question) {
  uint64_t number = 0, kinds = 0;
  auto const own = unpack_fields(question, number, kinds) ? find_own(number) : nullptr;
  if (!own) return no_question();
  auto const trace = own->opened->read_kinds(kinds);
  return trace ? model::packed_trace(*trace) : std::string();
}

Expected<std::string> Helper::collectives(std::string_view question) {
  uint64_t number = 0;
  auto const own = unpack_fields(question, number) ? find_own(number) : nullptr;
  if (!own) return no_question();
  auto const collectives = own->opened->collectives();
  if (!collectives) return base::fail_with(collectives);
  return packed_fields(*collectives);
}

Expected<std::string> Helper::make_skeleton(std::string_view question) {
  uint64_t number = 0;
  PlaceInRun place;
  bool is_analyzed = false;
  auto const own = unpack_fields(question, number, place, is_analyzed) ? find_own(number) : nullptr;
  if (!own) return no_question();

  own->in_run.emplace(placed(own->opened, place));
  auto skeleton = read_skeleton(own->in_run->source, is_analyzed);
  if (!skeleton) return base::fail_with(skeleton);
  std::string bytes = model::packed_trace(*skeleton);
  own->skeleton = {std::move(*skeleton), place.offset_ns, place.file, place.rank_drift};
  return bytes;
}

Expected<std::string> Helper::observe(std::string_view question) {
  uint64_t number = 0;
  std::string asked;
  auto const own = unpack_fields(question, number, asked) ? find_own(number) : nullptr;
  auto process = own && own->in_run ? analyzer::unpacked_question(asked) : std::nullopt;
  if (!process) return no_question();

  auto const whole = read_process(*own->in_run, observed_selection());
  if (!whole) return base::fail_with(whole);
  auto const observed = analyzer::answer_question(std::move(*process), own->skeleton, *whole);
  if (!observed) return base::fail_with(observed);

  base::Packer at;
  constexpr size_t kUsualBytes = size_t{2} << 20;
  at.reserve(kUsualBytes);
  analyzer::pack_answer(at, *observed);
  at(model::whole_of_skeleton(whole->trace));
  return std::move(at).take();
}

Expected<std::string> Helper::work(std::string_view question) {
  uint64_t number = 0;
  PlaceInRun place;
  ProcessQuestion asked;
  auto const own = unpack_fields(question, number, place, asked) ? find_own(number) : nullptr;
  if (!own || !work_) return no_question();

  RankSource const source = placed(own->opened, place);
  auto const answer = work_on_process(source, asked, work_);
  if (!answer) return base::fail_with(answer);
  return packed_fields(answer->bytes, answer->whole);
}

Expected<std::string> Helper::forget(std::string_view question) {
  uint64_t number = 0;
  if (!unpack_fields(question, number)) return no_question();
  std::lock_guard const lock(mutex_);
  if (own_.erase(number) == 0) return no_question();
  return std::string();
}

Expected<std::string> Helper::answer(std::string_view question) {
  if (question.empty()) return no_question();
  auto const asks = static_cast<Asks>(question.front());
  question.remove_prefix(1);

  switch (asks) {
    case Asks::kFind:
      return find(question);
    case Asks::kOpen:
      return open(question);
    case Asks::kSteps:
      return steps(question);
    case Asks::kCopy:
      return copy(question);
    case Asks::kReadKinds:
      return read_kinds(question);
    case Asks::kCollectives:
      return collectives(question);
    case Asks::kSkeleton:
      return make_skeleton(question);
    case Asks::kObserve:
      return observe(question);
    case Asks::kWork:
      return work(question);
    case Asks::kForget:
      return forget(question);
  }
  return no_question();
}

Expected<void> help(mpi::Processes& processes, ProcessWork work) {
  Helper helper(std::move(work));
  return serve(processes, [&](std::string_view question) { return helper.answer(question); });
}

}  // namespace stepscope::run_loading
