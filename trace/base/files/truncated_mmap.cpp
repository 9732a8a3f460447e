#include "trace/base/files/truncated_mmap.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace stepscope::base {

struct GuardedPlace {
  std::atomic<uintptr_t> begin = 0, end = 0;  ///< whole pages; equal: nobody's
  std::atomic<bool> cut = false;
  GuardedPlace* next = nullptr;  ///< does not change once the place is in the list
};

namespace {

/// All places that were ever used. The answer to the signal walks the list at any time: none is
/// ever taken out of it, those that are free are used again.
struct GuardedPlaces {
  std::atomic<GuardedPlace*> first = nullptr;
  std::mutex mutex;
  std::vector<GuardedPlace*> unused;  ///< under the mutex
};

GuardedPlaces& guarded_places() {
  // Never destroyed: mappings of other static objects may outlive it.
  static auto* const places = new GuardedPlaces;
  return *places;
}

GuardedPlace* take_place() {
  GuardedPlaces& places = guarded_places();
  std::lock_guard const lock(places.mutex);
  if (!places.unused.empty()) {
    GuardedPlace* const place = places.unused.back();
    places.unused.pop_back();
    return place;
  }
  auto* const place = new GuardedPlace;
  place->next = places.first;
  places.first = place;
  return place;
}

void give_place_back(GuardedPlace* place) {
  place->end = 0;
  place->begin = 0;
  GuardedPlaces& places = guarded_places();
  std::lock_guard const lock(places.mutex);
  places.unused.push_back(place);
}

uintptr_t page_bytes() {
  static auto const size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

/// Who answered the signal before.
struct sigaction& answer_before() {
  static struct sigaction before {};
  return before;
}

/// Puts zeros where the rest of a mapping was: what lies behind a page that is gone is gone, too.
/// False: it is no mapping of ours.
bool fill_with_zeros(uintptr_t address) {
  for (GuardedPlace* place = guarded_places().first; place != nullptr; place = place->next) {
    // A place that is given back between the reads has no end afterwards, and one that is taken
    // anew another one.
    uintptr_t const end = place->end, begin = place->begin;
    if (begin == 0 || address < begin || address >= end || place->end != end) continue;
    uintptr_t const page = address / page_bytes() * page_bytes();
    // The address is the system's, not a program's.
    void* const rest = reinterpret_cast<void*>(page);  // NOLINT(performance-no-int-to-ptr)
    place->cut = true;
    return ::mmap(rest, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
           MAP_FAILED;
  }
  return false;
}

/// The read that failed is done again after it. Calls nothing but the system.
void answer_bus_error(int signal, siginfo_t* info, void* context) {
  int const error = errno;
  if (info->si_code == BUS_ADRERR && fill_with_zeros(reinterpret_cast<uintptr_t>(info->si_addr))) {
    errno = error;
    return;
  }
  struct sigaction const& before = answer_before();
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr)
    return before.sa_sigaction(signal, info, context);
  if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler != SIG_DFL &&
      before.sa_handler != SIG_IGN)
    return before.sa_handler(signal);
  // As if nobody answered: it ends the program as soon as this returns.
  struct sigaction none {};
  none.sa_handler = SIG_DFL;
  ::sigaction(signal, &none, nullptr);
  ::raise(signal);
}

}  // namespace

void survive_cut_files() {
  static std::once_flag once;
  std::call_once(once, [] {
    // What the answer looks at is made before.
    static_cast<void>(guarded_places());
    static_cast<void>(page_bytes());
    struct sigaction answer {};
    answer.sa_sigaction = answer_bus_error;
    answer.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&answer.sa_mask);
    ::sigaction(SIGBUS, &answer, &answer_before());
  });
}

GuardedMapping::GuardedMapping(void const* begin, size_t size) : place_(take_place()) {
  auto const first = reinterpret_cast<uintptr_t>(begin);
  place_->cut = false;
  place_->begin = first;
  place_->end = first + (size + page_bytes() - 1) / page_bytes() * page_bytes();
}

GuardedMapping::GuardedMapping(GuardedMapping&& other) noexcept
    : place_(std::exchange(other.place_, nullptr)) {}

GuardedMapping& GuardedMapping::operator=(GuardedMapping&& other) noexcept {
  std::swap(place_, other.place_);
  return *this;
}

GuardedMapping::~GuardedMapping() {
  if (place_ != nullptr) give_place_back(place_);
}

bool GuardedMapping::was_cut() const { return place_ != nullptr && place_->cut; }

}  // namespace stepscope::base
