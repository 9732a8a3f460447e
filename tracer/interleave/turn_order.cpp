#include "tracer/interleave/turn_order.h"

#include <algorithm>
#include <utility>

namespace stepscope::tracer {
namespace {

/// A turn that lasts longer, and so many times the longest turn before, is too long.
constexpr std::chrono::seconds kLongTurn{30};
constexpr int kTimesTheLongest = 20;
/// From the end of the last process that marks steps to the end of its program: launchers look
/// after their ranks every few seconds only.
constexpr std::chrono::seconds kTimeToEnd{10};

}  // namespace

void TurnOrder::ask(size_t program, int64_t number, int64_t had, Time now) {
  // The first of a program whose processes have all ended has no other one to catch up with.
  if (!has_processes(program)) turns_[program] = holder_ == program ? 1 : 0;
  if (holder_ == program) left_since_.reset();

  Process& process = processes_[number];
  process.program = program;
  process.turn = had;
  process.waits = true;

  if (!holder_) {
    if (has_processes(0) && has_processes(1)) begin_turn(now);
  } else if (*holder_ == program && process.turn < turns_[program]) {
    answer(number, process);
  } else {
    end_turn_if_over(now);
  }
}

void TurnOrder::leave(int64_t number, Time now) {
  auto const found = processes_.find(number);
  if (found == processes_.end()) return;
  size_t const program = found->second.program;
  processes_.erase(found);
  std::erase_if(answers_, [&](Answer const& one) { return one.process == number; });

  if (holder_ != program) return;
  if (has_processes(program))
    end_turn_if_over(now);
  else
    left_since_ = now;
}

std::vector<TurnOrder::Answer> TurnOrder::take_answers() { return std::exchange(answers_, {}); }

std::optional<std::chrono::nanoseconds> TurnOrder::kept_too_long(Time now) const {
  if (!holder_) return {};
  std::chrono::nanoseconds const lasted = now - since_;
  std::chrono::nanoseconds const limit =
      std::max<std::chrono::nanoseconds>(kLongTurn, kTimesTheLongest * longest_);
  return lasted > limit ? std::optional(lasted) : std::nullopt;
}

TurnOrder::Missing TurnOrder::missing() const {
  Missing missing;
  for (auto const& [number, process] : processes_) {
    if (holder_ != process.program) continue;
    ++missing.of;
    missing.processes += process.waits ? 0 : 1;
  }
  return missing;
}

bool TurnOrder::trains_no_more(Time now) const {
  return left_since_ && now - *left_since_ > kTimeToEnd;
}

void TurnOrder::answer(int64_t number, Process& process) {
  process.turn = turns_[process.program];
  process.waits = false;
  answers_.push_back({number, process.turn});
}

void TurnOrder::end_turn_if_over(Time now) {
  if (!holder_ || !has_processes(*holder_) || !all_wait(*holder_)) return;
  longest_ = std::max<std::chrono::nanoseconds>(longest_, now - since_);
  begin_turn(now);
}

/// A B, B A, A B: a machine that becomes steadily slower or faster is in favour of neither.
void TurnOrder::begin_turn(Time now) {
  holder_ = static_cast<size_t>((given_ + 1) / 2 % 2);
  ++given_;
  ++turns_[*holder_];
  since_ = now;
  left_since_ = has_processes(*holder_) ? std::nullopt : std::optional(now);

  for (auto& [number, process] : processes_)
    if (process.program == *holder_ && process.waits) answer(number, process);
}

bool TurnOrder::has_processes(size_t program) const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [&](auto const& one) { return one.second.program == program; });
}

bool TurnOrder::all_wait(size_t program) const {
  return std::all_of(processes_.begin(), processes_.end(), [&](auto const& one) {
    return one.second.program != program || one.second.waits;
  });
}

}  // namespace stepscope::tracer
