#include "tracer/requests/asking.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include <signal.h>
#include <sys/types.h>

#include "trace/base/files/run_folder.h"
#include "trace/base/format.h"
#include "trace/base/host_name.h"

namespace stepscope::tracer {
namespace {

using base::Expected;
using base::fail;
using Clock = std::chrono::steady_clock;
using States = std::vector<ProcessState>;

/// How often files are looked at while somebody waits: rarely where they are many.
std::chrono::milliseconds look_period(size_t processes) {
  constexpr size_t kFew = 64;
  return std::chrono::milliseconds(processes <= kFew ? 50 : 1000);
}

std::string new_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

/// For who is asked whether it still answers.
constexpr std::chrono::seconds kAnswerTimeout{10};

bool is_same(ProcessState const& a, ProcessState const& b) {
  return a.host == b.host && a.process_ids == b.process_ids && a.process_id == b.process_id;
}

bool has_steps(ProcessState const& process) { return process.step >= 0; }

bool is_in(States const& processes, ProcessState const& wanted) {
  return std::any_of(processes.begin(), processes.end(),
                     [&](ProcessState const& each) { return is_same(each, wanted); });
}

/// A process that was killed on another machine leaves its file; its rank was started again.
void leave_out_predecessors(States& silent, States const& answered) {
  std::erase_if(silent, [&](ProcessState const& process) {
    return process.rank >= 0 &&
           std::any_of(answered.begin(), answered.end(), [&](ProcessState const& each) {
             return each.rank == process.rank && each.phase != ProcessState::Phase::kEnded;
           });
  });
}

/// It has executed another program since, or is past the steps without having marked them.
bool has_passed(ProcessState const& process, ProcessState const& before) {
  bool const is_another = process.written < before.written || process.step < before.step;
  bool const waits = process.phase == ProcessState::Phase::kWaiting;
  // A process that waits again has given a window by time up.
  bool const is_timed = before.window == StepRange();
  return is_another || (waits && (is_timed || process.step > before.window.last));
}

/// Files of a process have one name, in each folder. A ring that was written before this one, or
/// since, is another.
bool has_written(ProcessState const& process, ProcessState const& before, std::string const& ring) {
  if (process.written <= before.written) return false;
  std::filesystem::path const file = process.file;
  if (ring.empty() || file.parent_path().filename() == ring) return true;
  std::error_code error;
  return process.written > before.written + 1 &&
         std::filesystem::exists(file.parent_path().parent_path() / ring / file.filename(), error);
}

WrittenWindow window_so_far(States const& recording, States const& now, States const& silent,
                            std::string const& ring) {
  WrittenWindow window;
  for (ProcessState const& before : recording) {
    auto const found = std::find_if(
        now.begin(), now.end(), [&](ProcessState const& each) { return is_same(each, before); });
    ProcessState const& process = found == now.end() ? before : *found;

    bool const is_lost = !may_live(process) || has_passed(process, before) ||
                         process.failed > before.failed || is_in(silent, before);
    if (has_written(process, before, ring))
      window.written.push_back(process);
    else
      (is_lost ? window.without : window.waiting).push_back(process);
  }
  return window;
}

/// Looks whether processes that are waited for still begin steps: a program may hang, or evaluate
/// for long.
class Standstill {
 public:
  /// `waiting`: as they have just answered. How long none has moved, once, when that is at least
  /// `least` and three of their steps.
  std::optional<std::chrono::nanoseconds> begins(States const& waiting,
                                                 std::chrono::nanoseconds least) {
    bool const is_still = std::equal(waiting.begin(), waiting.end(), before_.begin(), before_.end(),
                                     [](ProcessState const& a, ProcessState const& b) {
                                       return is_same(a, b) && a.step == b.step;
                                     });
    before_ = waiting;
    auto const now = Clock::now();
    if (!is_still || !since_) since_ = now;

    for (ProcessState const& process : waiting)
      least = std::max(least, std::chrono::nanoseconds(process.step_ns) * 3);
    if (now - *since_ < least || std::exchange(was_seen_, true)) return std::nullopt;
    return now - *since_;
  }

 private:
  States before_;
  std::optional<Clock::time_point> since_;
  bool was_seen_ = false;
};

/// "rank 1 (…), rank 2 (…) and 6 more".
std::string list(States const& processes) {
  constexpr size_t kMost = 3;
  std::string text;
  for (size_t i = 0; i < std::min(processes.size(), kMost); ++i)
    text += (i > 0 ? ", " : "") + describe(processes[i]);
  if (processes.size() > kMost) text += fmt::format(" and {} more", processes.size() - kMost);
  return text;
}

tl::unexpected<base::Error> silent(States const& processes, std::chrono::nanoseconds timeout) {
  return fail(
      "{} did not answer within {}: it may be stopped, or its machine does not see this folder; "
      "wait longer with --timeout",
      list(processes), base::format_duration(timeout.count()));
}

/// Ranks of the job that no process speaks for.
std::vector<int32_t> missing_ranks(States const& processes) {
  std::set<int32_t> there;
  int32_t ranks = 0;
  for (ProcessState const& process : processes) {
    if (process.rank < 0) continue;
    there.insert(process.rank);
    ranks = std::max(ranks, process.world_size);
  }

  constexpr size_t kMostNamed = 8;
  std::vector<int32_t> missing;
  for (int32_t rank = 0; rank < ranks && missing.size() < kMostNamed; ++rank)
    if (!there.contains(rank)) missing.push_back(rank);
  return missing;
}

/// Errors: one of these records, or waits for its window; ranks of the job are missing.
Expected<void> check_free(States const& processes, bool without_missing, char const* what_to_do) {
  States busy;
  for (ProcessState const& process : processes)
    if (process.phase != ProcessState::Phase::kWaiting) busy.push_back(process);
  StepRange const window = busy.empty() ? StepRange() : busy.front().window;

  if (!busy.empty() && window == StepRange())
    return fail("{}: a window by time is asked for already, ask again when it is written",
                list(busy));
  if (!busy.empty())
    return fail("{}: a window of steps {} to {} is asked for already, ask again when it is written",
                list(busy), window.first, window.last);
  if (auto const missing = missing_ranks(processes); !missing.empty() && !without_missing)
    return fail(
        "rank {} of the job {}, or has ended: wait for it, or record the others with --partial",
        fmt::join(missing, ", "), what_to_do);
  return {};
}

}  // namespace

std::string describe(ProcessState const& process) {
  std::string const where = fmt::format("process {} on {}", process.process_id, process.host);
  return process.rank < 0 ? where : fmt::format("rank {} ({})", process.rank, where);
}

bool may_live(ProcessState const& process) {
  if (process.phase == ProcessState::Phase::kEnded) return false;
  bool const is_here =
      process.host == base::host_name() && process.process_ids == own_process_ids();
  if (!is_here) return true;
  if (process.process_id <= 0 || !std::in_range<pid_t>(process.process_id)) return false;
  return is_alive(static_cast<pid_t>(process.process_id));
}

Expected<Request> choose_ring(std::string const& run, States const& processes) {
  int64_t furthest = -1, first = 0;
  for (ProcessState const& process : processes) {
    first = std::max(first, process.window.first);
    if (process.phase != ProcessState::Phase::kKeeping)
      return fail("{}: keeps no ring, others of the run do; record all of them alike",
                  describe(process));
    furthest = std::max(furthest, process.step);
  }

  std::string const name = base::name_of_ring(furthest, std::time(nullptr));
  std::error_code error;
  Request request{.kind = Request::Kind::kRing, .steps = {first, INT64_MAX}, .ring = name};
  for (int i = 2; std::filesystem::exists(run + "/" + request.ring, error); ++i)
    request.ring = fmt::format("{}-{}", name, i);
  request.reason = kAskedByPerson;
  return request;
}

Expected<Request> choose_time(States const& processes, AskedTime const& asked) {
  auto const free = check_free(processes, asked.without_missing, "is not recorded yet");
  if (!free) return base::fail_with(free);

  int64_t lead_ns = 0;
  for (ProcessState const& process : processes)
    lead_ns = std::max(lead_ns, kLeadPeriods * request_period_ns(process.world_size));
  Request request{.kind = Request::Kind::kWindow};
  request.begin_epoch_ns = asked.now_epoch_ns + lead_ns;
  if (asked.duration_ns < 1 ||
      __builtin_add_overflow(request.begin_epoch_ns, asked.duration_ns, &request.end_epoch_ns))
    return fail("--duration {}: give a time from 1 ns to some years",
                base::format_duration(asked.duration_ns));
  return request;
}

Expected<StepRange> choose_steps(States const& processes, AskedWindow const& asked) {
  States with_steps;
  std::copy_if(processes.begin(), processes.end(), std::back_inserter(with_steps), has_steps);
  if (with_steps.empty())
    return fail(
        "no process has marked a step yet: wait for the first one, or record a stretch of time "
        "with "
        "--duration. Steps are marked as docs/guide/ANNOTATIONS.md says; processes that a recorded "
        "one forks are not asked");
  auto const free = check_free(with_steps, asked.without_missing, "has marked no step yet");
  if (!free) return base::fail_with(free);

  int64_t furthest = 0, shortest_ns = INT64_MAX, lead_ns = 0;
  for (ProcessState const& process : with_steps) {
    furthest = std::max(furthest, process.step);
    lead_ns = std::max(lead_ns, kLeadPeriods * request_period_ns(process.world_size));
    if (process.step_ns > 0) shortest_ns = std::min(shortest_ns, process.step_ns);
  }
  if (!asked.ahead && shortest_ns == INT64_MAX)
    return fail(
        "how long a step takes is not known yet: ask again when the next one has begun, or say how "
        "many steps ahead with --in");

  constexpr int64_t kLeastAhead = 3;  // the step under way, the one that may begin now, one more
  int64_t const by_time = lead_ns / shortest_ns + 1;
  int64_t const ahead = asked.ahead.value_or(std::max(by_time, kLeastAhead));

  StepRange steps;
  if (asked.steps < 1 || ahead < 1 || __builtin_add_overflow(furthest, ahead, &steps.first) ||
      __builtin_add_overflow(steps.first, asked.steps - 1, &steps.last) || steps.last == INT64_MAX)
    return fail("--steps {} --in {}: that is further than steps can be counted", asked.steps,
                ahead);
  return steps;
}

Expected<Asking> Asking::begin(std::string run, std::chrono::milliseconds patience) {
  std::string const folder = requests_folder(run);
  if (!has_requests_folder(run))
    return fail(
        "{}: nothing there can be asked by you, record the program as the same user with stepscope "
        "record --on-request",
        run);

  auto lock = base::LockFile::take(folder + "/" + base::LockFile::kNameInFolder, run,
                                   base::LockFile::Share::kAlone, patience);
  if (!lock)
    return fail("{}: its processes cannot be asked just now, ask again in a moment ({})", run,
                lock.error().message);
  return Asking(std::move(run), std::move(*lock));
}

Expected<Asking::Answers> Asking::answers_to(Request request, std::chrono::nanoseconds timeout) {
  request.id = new_id();
  if (auto const written = write_request(run_, request); !written) return base::fail_with(written);

  auto const end = Clock::now() + timeout;
  for (;;) {
    Answers answers;
    for (ProcessState& process : read_process_states(run_)) {
      // What one of another version says in answer is not known here.
      bool const has_answered =
          process.version != kRequestVersion || process.ring == request.id ||
          (process.request == request.id && process.answer != ProcessState::Answer::kNone);
      if (has_answered)
        answers.answered.push_back(std::move(process));
      else if (may_live(process))
        answers.silent.push_back(std::move(process));
    }

    bool const is_over = Clock::now() >= end;
    if (is_over) leave_out_predecessors(answers.silent, answers.answered);
    if (is_over || answers.silent.empty()) return answers;
    std::this_thread::sleep_for(look_period(answers.answered.size() + answers.silent.size()));
  }
}

Expected<States> Asking::all_answers_to(Request const& request, std::chrono::nanoseconds timeout) {
  auto answers = answers_to(request, timeout);
  if (!answers) return base::fail_with(answers);
  if (!answers->silent.empty()) return silent(answers->silent, timeout);
  return std::move(answers->answered);
}

Expected<States> Asking::find_silent(std::chrono::nanoseconds timeout) {
  auto answers = answers_to({.kind = Request::Kind::kState}, timeout);
  if (!answers) return base::fail_with(answers);
  return std::move(answers->silent);
}

Expected<States> Asking::ask(std::chrono::nanoseconds timeout) {
  auto states = all_answers_to({.kind = Request::Kind::kState}, timeout);
  if (!states) return states;

  auto const other = std::find_if(states->begin(), states->end(), [](ProcessState const& state) {
    return state.version != kRequestVersion || state.answer == ProcessState::Answer::kOtherVersion;
  });
  if (other != states->end())
    return fail("{}: is recorded by another version of Stepscope, ask it with that one",
                describe(*other));
  std::erase_if(*states, [](ProcessState const& state) {
    return state.phase == ProcessState::Phase::kEnded;
  });
  if (!states->empty()) return states;
  if (foreign_process_files(run_) > 0)
    return fail(
        "{}: files of its processes belong to another user, who alone can ask them (a file server "
        "may take root for another user)",
        requests_folder(run_));
  return fail("{}: no process is being recorded there any more", run_);
}

Expected<States> Asking::those_that_take(States const& processes, Request const& request,
                                         std::string const& what, std::string const& remedy,
                                         std::chrono::nanoseconds timeout) {
  auto answers = all_answers_to(request, timeout);
  if (!answers) return fail("{}; the others record {}", answers.error().message, what);

  States recording, late;
  for (ProcessState const& process : processes) {
    if (!has_steps(process) && !request.is_timed()) continue;
    auto const now = std::find_if(answers->begin(), answers->end(),
                                  [&](ProcessState const& each) { return is_same(each, process); });
    bool const is_good = now != answers->end() && now->answer == ProcessState::Answer::kDone &&
                         now->window == request.steps;
    (is_good ? recording : late).push_back(now != answers->end() ? *now : process);
  }

  if (!late.empty())
    return fail(
        "{} cannot record {}: it was past them{}, has ended or waits for another window; {}",
        list(late), what, request.is_timed() ? " or far before them by its clock" : "", remedy);
  return recording;
}

Expected<States> Asking::ask_for_window(States const& processes, StepRange steps,
                                        std::chrono::nanoseconds timeout) {
  return those_that_take(processes, {.kind = Request::Kind::kWindow, .steps = steps},
                         fmt::format("the steps {} to {}", steps.first, steps.last),
                         "ask again with a larger --in", timeout);
}

Expected<States> Asking::ask_for_time(States const& processes, Request const& request,
                                      std::chrono::nanoseconds timeout) {
  int64_t const duration_ns = request.end_epoch_ns - request.begin_epoch_ns;
  return those_that_take(processes, request,
                         fmt::format("these {}", base::format_duration(duration_ns)),
                         "compare the clocks of the machines, and ask again", timeout);
}

Expected<States> Asking::ask_for_ring(States const& processes, Request const& request,
                                      std::chrono::nanoseconds timeout) {
  auto const answers = answers_to(request, timeout);
  if (!answers) return base::fail_with(answers);
  auto const now = read_ring_request(run_);
  if (now && now->ring != request.ring)
    return fail("{}: is written just now, because {}; ask again when it is there", now->ring,
                now->reason);
  if (!answers->silent.empty())
    return fail("{}; the others write {}", silent(answers->silent, timeout).value().message,
                request.ring);

  States writing;
  for (ProcessState const& process : processes)
    if (is_in(answers->answered, process)) writing.push_back(process);
  return writing;
}

Expected<States> Asking::ask_to(Request::Kind kind, std::chrono::nanoseconds timeout) {
  return all_answers_to({.kind = kind}, timeout);
}

WrittenWindow wait_for_window(std::string const& run, States const& recording,
                              WindowWait const& wait) {
  auto const end = Clock::now() + wait.timeout;
  auto next_question = Clock::now() + wait.question_period;
  States silent;
  Standstill standstill;

  for (;;) {
    WrittenWindow window = window_so_far(recording, read_process_states(run), silent, wait.ring);
    if (window.waiting.empty() || Clock::now() >= end) return window;

    if (Clock::now() >= next_question) {
      auto asking = Asking::begin(run);
      auto found = asking ? asking->find_silent(kAnswerTimeout) : base::fail_with(asking);
      next_question = Clock::now() + wait.question_period;

      // Only who has just been asked says how far it is.
      if (found) {
        silent = std::move(*found);
        window = window_so_far(recording, read_process_states(run), silent, wait.ring);
        auto const still = standstill.begins(window.waiting, wait.still_after);
        if (wait.when_still && still) wait.when_still(window.waiting, *still);
      }
    }
    std::this_thread::sleep_for(look_period(recording.size()));
  }
}

}  // namespace stepscope::tracer
