// Fuzzes the reading commands and the viewer for hours, without sanitizers, hundreds to thousands
// of inputs a second: usage
//   fuzz_campaign CORPUS FOLDER SECONDS [COMMAND]   appends to FOLDER/campaign.log, leaves faults
//   in FOLDER/faults fuzz_campaign --replay FAULT                    runs one fault again
// Commands take turns: the one with the fewest executions in the log is next, so that all come
// equally far. A fault is a crash, more than 5 s of computing, more than a minute of waiting, or
// more than 1 GiB of memory. The first byte of its file chooses the command line.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/campaign/campaign_inputs.h"
#include "tests/fuzz/command_lines.h"
#ifdef STEPSCOPE_FUZZ_VIEWER
#include "tests/fuzz/look_at_trace.h"
#endif

namespace {

using namespace stepscope;
namespace fs = std::filesystem;

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr int64_t kMostComputingNs = 5 * kNsPerSecond;
constexpr int64_t kMostWaitingNs = 60 * kNsPerSecond;
constexpr int64_t kMostMemoryKb = 1 << 20;
/// What protects the machine: allocations beyond it fail, which ends the worker.
constexpr rlim_t kMemoryLimitBytes = rlim_t{4} << 30;
constexpr rlim_t kFileLimitBytes = rlim_t{2} << 30;
constexpr int64_t kTurnNs = 20 * kNsPerSecond;
constexpr int kMuchMemory = 99;  ///< exit code of a worker
/// Any: the readers' own bounds hold (trace/file/claims.h).
constexpr uint64_t kMostEvents = UINT64_MAX;
/// One input of so many may claim so many events: a few bytes can claim millions, which take a
/// second.
constexpr uint64_t kLargeOneOf = 64;

int64_t now_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

/// One way to read the input: a command line, or a look of the viewer.
struct Reading {
  std::string command;                               ///< under which executions are counted
  std::string description;                           ///< of this one
  std::function<int(fuzz::InputFolder const&)> run;  ///< returns an exit code
};

std::vector<Reading> make_readings() {
  std::vector<Reading> all;
  for (fuzz::CommandLine const& line : fuzz::command_lines())
    all.push_back(
        {line.command, fmt::format("{}", fmt::join(line.arguments, " ")),
         [&line](fuzz::InputFolder const& folder) { return fuzz::run_command(line, folder); }});

#ifdef STEPSCOPE_FUZZ_VIEWER
  auto const add_look = [&](char const* how, bool (*look)(std::string const&)) {
    all.push_back({"viewer", how, [look](fuzz::InputFolder const& folder) {
                     return look(folder.input()) ? 0 : cli::kWrongUse;
                   }});
  };
  add_look("in memory", fuzz::look_in_memory);
  add_look("out of core",
           [](std::string const& path) { return fuzz::look_out_of_core(path, false); });
  add_look("out of core, analyzed",
           [](std::string const& path) { return fuzz::look_out_of_core(path, true); });
#endif
  return all;
}

std::vector<Reading> const& readings() {
  static std::vector<Reading> const all = make_readings();
  return all;
}

/// What the worker does, seen by the process that watches it.
struct Shared {
  std::atomic<uint64_t> executions, readable;
  std::atomic<int64_t> begun_ns,
      computed_ns;  ///< when the input began; what the worker had computed by then
  std::atomic<uint32_t> line;
  std::atomic<size_t> size;
  std::byte bytes[fuzz::CampaignInputs::kMostBytes];
};

struct Counts {
  uint64_t executions = 0, readable = 0, crashes = 0, hangs = 0, much_memory = 0;
  double seconds = 0;
  void add(Counts const& other) {
    executions += other.executions;
    readable += other.readable;
    crashes += other.crashes;
    hangs += other.hangs;
    much_memory += other.much_memory;
    seconds += other.seconds;
  }
};

void limit(decltype(RLIMIT_DATA) resource, rlim_t most) {
  rlimit const value{most, most};
  setrlimit(resource, &value);
}

int64_t peak_kb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// Runs one input after the other until it is killed.
[[noreturn]] void work(Shared& shared, std::vector<uint32_t> const& lines,
                       std::string const& corpus, uint64_t seed, fuzz::InputFolder& folder) {
  limit(RLIMIT_DATA, kMemoryLimitBytes);
  limit(RLIMIT_FSIZE, kFileLimitBytes);
  limit(RLIMIT_CORE, 0);
  oneapi::tbb::global_control const one_thread(oneapi::tbb::global_control::max_allowed_parallelism,
                                               1);
  fuzz::CampaignInputs inputs(corpus, seed);
  std::mt19937_64 random(seed);

  for (;;) {
    fuzz::Input input = inputs.next();
    uint32_t const line = lines[random() % lines.size()];
    std::copy(input.begin(), input.end(), shared.bytes);
    shared.size = input.size();
    shared.line = line;
    shared.computed_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    shared.begun_ns = now_ns(CLOCK_MONOTONIC);

    bool const may_be_large = random() % kLargeOneOf == 0;
    if (!folder.take(input, false, may_be_large ? kMostEvents : fuzz::InputFolder::kMostEvents))
      continue;
    int const code = readings()[line].run(folder);
    if (peak_kb() > kMostMemoryKb) _exit(kMuchMemory);
    ++shared.executions;
    if (code != cli::kWrongUse) {
      ++shared.readable;
      if (!may_be_large) inputs.keep(std::move(input));
    }
  }
}

/// Runs workers for one command and keeps what goes wrong.
class Turn {
 public:
  Turn(std::string command, std::string corpus, fs::path faults)
      : command_(std::move(command)), corpus_(std::move(corpus)), faults_(std::move(faults)) {
    void* const memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    shared_ = new (memory) Shared();
    for (uint32_t line = 0; line < readings().size(); ++line)
      if (readings()[line].command == command_) lines_.push_back(line);
  }
  Turn(Turn const&) = delete;
  Turn& operator=(Turn const&) = delete;
  ~Turn() { munmap(shared_, sizeof(Shared)); }

  Counts run(int64_t most_ns, uint64_t seed) {
    int64_t const begin = now_ns(CLOCK_MONOTONIC);
    int64_t const end = begin + most_ns;
    while (now_ns(CLOCK_MONOTONIC) < end) run_worker(end, seed++);
    counts_.executions = shared_->executions;
    counts_.readable = shared_->readable;
    counts_.seconds = static_cast<double>(now_ns(CLOCK_MONOTONIC) - begin) / kNsPerSecond;
    return counts_;
  }

 private:
  void run_worker(int64_t end, uint64_t seed) {
    fuzz::InputFolder folder;
    setenv("TMPDIR", fs::path(folder.input()).parent_path().c_str(), 1);
    shared_->begun_ns = 0;
    pid_t const worker = fork();
    if (worker < 0) std::abort();
    if (worker == 0) work(*shared_, lines_, corpus_, seed, folder);

    for (;;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      int status = 0;
      if (waitpid(worker, &status, WNOHANG) == worker) return ended(status);
      bool const is_over = now_ns(CLOCK_MONOTONIC) >= end;
      bool const has_hung = hangs(worker);
      if (!is_over && !has_hung) continue;
      kill(worker, SIGKILL);
      waitpid(worker, &status, 0);
      if (has_hung) ++counts_.hangs, keep_fault("hang");
      return;
    }
  }

  [[nodiscard]] bool hangs(pid_t worker) const {
    int64_t const begun = shared_->begun_ns, computed = shared_->computed_ns;
    if (begun == 0) return false;
    if (now_ns(CLOCK_MONOTONIC) - begun > kMostWaitingNs) return shared_->begun_ns == begun;
    clockid_t clock = 0;
    return clock_getcpuclockid(worker, &clock) == 0 &&
           now_ns(clock) - computed > kMostComputingNs && shared_->begun_ns == begun;
  }

  void ended(int status) {
    bool const much_memory = WIFEXITED(status) && WEXITSTATUS(status) == kMuchMemory;
    ++(much_memory ? counts_.much_memory : counts_.crashes);
    keep_fault(much_memory ? "memory" : "crash");
  }

  void keep_fault(std::string const& kind) {
    constexpr size_t kMostFaults = 50;  // of a kind and command
    for (size_t number = 0; number < kMostFaults; ++number) {
      fs::path const path = faults_ / fmt::format("{}-{}-{}", command_, kind, number);
      if (fs::exists(path)) continue;

      std::ofstream out(path, std::ios::binary);
      out.put(static_cast<char>(shared_->line | 0x80U));
      out.write(reinterpret_cast<char const*>(shared_->bytes),
                static_cast<std::streamsize>(shared_->size.load()));
      return;
    }
  }

  std::string command_, corpus_;
  fs::path faults_;
  Shared* shared_;
  std::vector<uint32_t> lines_;
  Counts counts_;
};

std::string line_of(std::string const& command, Counts const& counts) {
  return fmt::format("{} executions {} readable {} crashes {} hangs {} memory {} seconds {:.1f}",
                     command, counts.executions, counts.readable, counts.crashes, counts.hangs,
                     counts.much_memory, counts.seconds);
}

/// What the log has of each command so far.
std::map<std::string, Counts> sum_log(fs::path const& log) {
  std::map<std::string, Counts> sums;
  for (Reading const& reading : readings()) sums[reading.command];

  std::ifstream in(log);
  for (std::string text; std::getline(in, text);) {
    std::istringstream words(text);
    std::string when, command, name;
    Counts counts;
    words >> when >> command >> name >> counts.executions >> name >> counts.readable >> name >>
        counts.crashes >> name >> counts.hangs >> name >> counts.much_memory >> name >>
        counts.seconds;
    if (words && sums.contains(command)) sums[command].add(counts);
  }

  return sums;
}

void write_sums(fs::path const& path, std::map<std::string, Counts> const& sums) {
  std::ofstream out(path);
  for (auto const& [command, counts] : sums)
    out << line_of(command, counts)
        << fmt::format(" per_minute {:.0f}\n",
                       counts.seconds > 0
                           ? static_cast<double>(counts.executions) * 60 / counts.seconds
                           : 0);
}

std::string utc_now() {
  std::time_t const now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

int replay(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  std::string const bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (bytes.empty()) return 2;
  size_t const number = static_cast<unsigned char>(bytes[0]) & 0x7FU;
  Reading const& reading = readings()[number % readings().size()];
  fmt::print("{} {}\n", reading.command, reading.description);
  std::fflush(stdout);

  oneapi::tbb::global_control const one_thread(oneapi::tbb::global_control::max_allowed_parallelism,
                                               1);
  fuzz::InputFolder folder;
  folder.take(std::as_bytes(std::span(bytes)).subspan(1), false, kMostEvents);
  int64_t const begin = now_ns(CLOCK_PROCESS_CPUTIME_ID);
  int const code = reading.run(folder);
  fmt::print("exit code {}, {:.2f} s, {} MiB\n", code,
             static_cast<double>(now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / kNsPerSecond,
             peak_kb() >> 10);
  return 0;
}

int run_campaign(std::string const& corpus, fs::path const& folder, double seconds,
                 std::string const& only) {
  fs::create_directories(folder / "faults");
  int64_t const end = now_ns(CLOCK_MONOTONIC) + static_cast<int64_t>(seconds * kNsPerSecond);
  uint64_t seed = std::random_device()();
  for (;;) {
    int64_t const left = end - now_ns(CLOCK_MONOTONIC);
    auto sums = sum_log(folder / "campaign.log");
    write_sums(folder / "summary.txt", sums);
    if (left <= 0) break;
    if (!only.empty()) std::erase_if(sums, [&](auto const& sum) { return sum.first != only; });
    if (sums.empty()) return 2;

    auto const next = std::min_element(sums.begin(), sums.end(), [](auto const& a, auto const& b) {
      return a.second.executions < b.second.executions;
    });
    Counts const counts =
        Turn(next->first, corpus, folder / "faults").run(std::min(left, kTurnNs), seed);
    seed += 1'000'003;
    std::ofstream(folder / "campaign.log", std::ios::app)
        << utc_now() << ' ' << line_of(next->first, counts) << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> const arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "--replay") return replay(arguments[1]);
  if (arguments.size() == 3 || arguments.size() == 4)
    return run_campaign(arguments[0], arguments[1], std::strtod(arguments[2].c_str(), nullptr),
                        arguments.size() == 4 ? arguments[3] : "");
  fmt::print(stderr, "usage: {} CORPUS FOLDER SECONDS [COMMAND] | --replay FAULT\n", argv[0]);
  return 2;
}
