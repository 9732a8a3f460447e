// How fast do the devices exchange data? For each message size every device runs the collective in
// a row. One collective takes from the moment at which the last device had finished the one before
// to the moment at which the last has finished it. The devices' own events measure it, and the
// median is reported. Sizes, columns and bandwidths: nccl-tests (github.com/NVIDIA/nccl-tests,
// doc/PERFORMANCE.md); reductions here are means. From top to bottom: the ops, one device's part,
// the check, the whole job.
#include "workloads/micro/allreduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tracer/api/annotate.h"
#include "workloads/data/random.h"
#include "workloads/options.h"
#include "workloads/thread_name.h"

namespace stepscope::workloads {
namespace {

// The ops.

struct BenchmarkedOp {
  char const* name;
  CollectiveOp
      op;  ///< kSend: every device sends to the next one and receives from the previous one
  char const* reduction;           ///< nccl-tests' column "redop"
  bool sends_part, receives_part;  ///< one member's part, not the whole message
  int bus_shares;  ///< bus bandwidth = algorithm bandwidth × this × (n − 1) / n; 0 = × 1
};
constexpr std::array kOps = {
    BenchmarkedOp{"all_reduce", CollectiveOp::kAllReduce, "avg", false, false, 2},
    BenchmarkedOp{"reduce_scatter", CollectiveOp::kReduceScatter, "avg", false, true, 1},
    BenchmarkedOp{"all_gather", CollectiveOp::kAllGather, "none", true, false, 1},
    BenchmarkedOp{"broadcast", CollectiveOp::kBroadcast, "none", false, false, 0},
    BenchmarkedOp{"sendrecv", CollectiveOp::kSend, "none", false, false, 0},
};

base::Expected<BenchmarkedOp> find_op(std::string const& name) {
  std::string known;
  for (BenchmarkedOp const& op : kOps) {
    if (name == op.name) return op;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", op.name);
  }
  return base::fail("--op {}: unknown, choose one of: {}", name, known);
}

// One device's part.

/// What all host threads share.
struct Job {
  AllReduceOptions const& options;
  BenchmarkedOp op;
  std::vector<size_t> counts;  ///< floats of the whole message, by size
  DeviceGroup group;

  [[nodiscard]] size_t members() const { return group.devices.size(); }
};

struct Worker {
  Device* device = nullptr;
  Buffer send, receive;
  std::vector<float> host;  ///< data to the device, and results from it
  std::vector<std::vector<int64_t>>
      reached_ns;             ///< by size: when the last warm-up and each iteration was over
  std::vector<size_t> wrong;  ///< by size
};

/// Element `i` of what member `rank` sends: in [−1, 1), other for each member.
float element(size_t rank, size_t i) {
  return static_cast<float>(Random::of(rank, i).next() >> 40U) * 0x1.0p-23F -
         1.0F;  // 24 bits: exact
}

size_t sent_floats(Job const& job, size_t count) {
  return job.op.sends_part ? count / job.members() : count;
}
size_t received_floats(Job const& job, size_t count) {
  return job.op.receives_part ? count / job.members() : count;
}

void enqueue(Job& job, Worker& w, size_t count) {
  Communicator& communicator = *job.group.communicator;
  auto const members = static_cast<uint32_t>(job.members());
  uint32_t const rank = w.device->index();

  if (job.op.op == CollectiveOp::kSend) {
    w.device->collective(
        "send", communicator,
        {CollectiveOp::kSend, w.send.floats(), nullptr, count, (rank + 1) % members});
    w.device->collective("receive", communicator,
                         {CollectiveOp::kReceive, nullptr, w.receive.floats(), count,
                          (rank + members - 1) % members});
    return;
  }

  w.device->collective(job.op.name, communicator,
                       {job.op.op, w.send.floats(), w.receive.floats(), count, 0});
}

/// Fills `send`, and `receive` with what no result is; the all-reduce works in `receive`.
void fill(Job& job, Worker& w, size_t count) {
  constexpr float kNoResult = 7.0F;
  auto const copy_in = [&](Buffer& buffer, size_t floats) {
    w.device->copy(StreamKind::kCommunication, "h2d.message", buffer.data(), w.host.data(),
                   floats * sizeof(float), CopyDirection::kHostToDevice);
    w.device->synchronize(w.device->record(StreamKind::kCommunication));
  };

  std::fill_n(w.host.begin(), received_floats(job, count), kNoResult);
  if (job.op.op != CollectiveOp::kAllReduce) copy_in(w.receive, received_floats(job, count));

  for (size_t i = 0; i < sent_floats(job, count); ++i) w.host[i] = element(w.device->index(), i);
  copy_in(job.op.op == CollectiveOp::kAllReduce ? w.receive : w.send, sent_floats(job, count));
}

void measure(Job& job, Worker& w, size_t size) {
  size_t const count = job.counts[size];
  {
    api::Phase const phase("warm-up");
    for (int64_t i = 0; i < job.options.warmup; ++i) enqueue(job, w, count);
  }

  api::Phase const phase("measure");
  // Timed section.
  std::vector<Event> events = {w.device->record(StreamKind::kCommunication)};
  for (int64_t i = 0; i < job.options.iterations; ++i) {
    enqueue(job, w, count);
    events.push_back(w.device->record(StreamKind::kCommunication));
  }
  w.device->synchronize(events.back());
  // End of the timed section.

  for (Event const& event : events) {
    w.device->synchronize(event);
    w.reached_ns[size].push_back(event->reached_ns());
  }
}

// The check.

/// What element `i` of `rank`'s result has to be.
double expected_element(Job const& job, size_t rank, size_t i, size_t count) {
  size_t const members = job.members();
  size_t const part = count / members;

  auto const mean = [&](size_t at) {
    double sum = 0;
    for (size_t member = 0; member < members; ++member)
      sum += static_cast<double>(element(member, at));
    return sum / static_cast<double>(members);
  };

  switch (job.op.op) {
    case CollectiveOp::kAllReduce:
      return mean(i);
    case CollectiveOp::kReduceScatter:
      return mean(rank * part + i);
    case CollectiveOp::kAllGather:
      return static_cast<double>(element(i / part, i % part));
    case CollectiveOp::kSend:
      return static_cast<double>(element((rank + members - 1) % members, i));
    default:
      return static_cast<double>(element(0, i));  // broadcast
  }
}

size_t count_wrong(Job& job, Worker& w, size_t count) {
  api::Phase const phase("check");
  fill(job, w, count);
  enqueue(job, w, count);

  size_t const floats = received_floats(job, count);
  w.device->copy(StreamKind::kCommunication, "d2h.result", w.host.data(), w.receive.data(),
                 floats * sizeof(float), CopyDirection::kDeviceToHost);
  w.device->synchronize(w.device->record(StreamKind::kCommunication));

  // Copies are exact; a sum of n values below 1 is off by at most n − 1 roundings of 2⁻²⁴ × n, and
  // n roundings more of its mean.
  bool const reduces =
      job.op.op == CollectiveOp::kAllReduce || job.op.op == CollectiveOp::kReduceScatter;
  double const tolerance = reduces ? static_cast<double>(job.members()) * 0x1.0p-23 : 0.0;

  size_t wrong = 0;
  for (size_t i = 0; i < floats; ++i) {
    double const difference =
        static_cast<double>(w.host[i]) - expected_element(job, w.device->index(), i, count);
    if (!(std::fabs(difference) <= tolerance)) ++wrong;
  }
  return wrong;
}

// The whole job.

void run_worker(Job& job, Worker& w) {
  name_this_thread("bench " + w.device->name());
  for (size_t size = 0; size < job.counts.size(); ++size) {
    api::Step const step(static_cast<int64_t>(size));
    fill(job, w, job.counts[size]);
    measure(job, w, size);
    if (job.options.check) w.wrong[size] = count_wrong(job, w, job.counts[size]);
  }
}

/// Whole messages that divide into equal parts; a size that is the one before after rounding is
/// left out.
std::vector<size_t> make_counts(AllReduceOptions const& o, size_t members) {
  std::vector<size_t> counts;
  for (auto bytes = static_cast<double>(o.min_bytes); bytes <= static_cast<double>(o.max_bytes);
       bytes *= o.factor) {
    size_t const parts = std::max<size_t>(1, static_cast<size_t>(bytes) / sizeof(float) / members);
    if (counts.empty() || parts * members != counts.back()) counts.push_back(parts * members);
  }
  return counts;
}

base::Expected<Worker> make_worker(Job const& job, Device& device) {
  Worker w;
  w.device = &device;

  size_t const largest = job.counts.back();
  if (job.op.op != CollectiveOp::kAllReduce) {  // which works in `receive`
    auto send =
        device.allocate(sent_floats(job, largest) * sizeof(float), MemoryPurpose::kOther, "send");
    if (!send) return base::fail_with(send);
    w.send = std::move(*send);
  }

  auto receive = device.allocate(received_floats(job, largest) * sizeof(float),
                                 MemoryPurpose::kOther, "receive");
  if (!receive) return base::fail_with(receive);
  w.receive = std::move(*receive);

  w.host.resize(largest);
  w.reached_ns.resize(job.counts.size());
  w.wrong.resize(job.counts.size());
  return w;
}

AllReduceRow make_row(Job const& job, std::vector<Worker> const& workers, size_t size) {
  std::vector<int64_t> over(static_cast<size_t>(job.options.iterations) + 1);  // on all devices
  AllReduceRow row;

  for (Worker const& w : workers) {
    for (size_t i = 0; i < over.size(); ++i) over[i] = std::max(over[i], w.reached_ns[size][i]);
    row.wrong += w.wrong[size];
  }

  std::vector<double> times;
  for (size_t i = 1; i < over.size(); ++i)
    times.push_back(static_cast<double>(over[i] - over[i - 1]));
  std::sort(times.begin(), times.end());
  size_t const middle = times.size() / 2;
  double const median =
      times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;

  row.count = job.counts[size];
  row.bytes = row.count * sizeof(float);
  row.time_us = median / 1e3;
  row.algbw_gbps = median > 0 ? static_cast<double>(row.bytes) / median : 0;
  row.busbw_gbps = row.algbw_gbps * bus_factor(job.op.op, job.members());
  row.checked = job.options.check;
  return row;
}

void print_rows(std::FILE* log, Job const& job, std::vector<AllReduceRow> const& rows) {
  fmt::print(log, "# {} on {}: median of {} iterations after {} of warm-up\n", job.op.name,
             job.options.device, job.options.iterations, job.options.warmup);
  fmt::print(log, "# {:>12} {:>12} {:>6} {:>6} {:>10} {:>8} {:>8} {:>7}\n", "size", "count", "type",
             "redop", "time", "algbw", "busbw", "#wrong");
  fmt::print(log, "# {:>12} {:>12} {:>6} {:>6} {:>10} {:>8} {:>8} {:>7}\n", "(B)", "(elements)", "",
             "", "(us)", "(GB/s)", "(GB/s)", "");

  for (AllReduceRow const& row : rows) {
    fmt::print(log, "  {:>12} {:>12} {:>6} {:>6} {:>10.2f} {:>8.3f} {:>8.3f} {:>7}\n", row.bytes,
               row.count, "float", job.op.reduction, row.time_us, row.algbw_gbps, row.busbw_gbps,
               row.checked ? fmt::format("{}", row.wrong) : "N/A");
  }
}

base::Expected<void> check_options(AllReduceOptions const& o) {
  if (!(o.factor > 1)) return base::fail("--factor {}: sizes must grow, use more than 1", o.factor);
  if (o.min_bytes < sizeof(float))
    return base::fail("--min-bytes {}: less than one float, use at least 4", o.min_bytes);
  if (o.max_bytes < o.min_bytes)
    return base::fail("--max-bytes {} is below --min-bytes {}", o.max_bytes, o.min_bytes);
  if (o.iterations < 1 || o.warmup < 0)
    return base::fail("--iterations must be at least 1 and --warmup at least 0");
  return {};
}

// Command line.

constexpr char const* kFooter = R"(Columns, as nccl-tests prints them:
  size, count  of the whole message: one member's part x members for all_gather and reduce_scatter. Sizes are rounded down to
               equal parts.
  time         median over the iterations, from the moment the last device finished the one before
  algbw        size / time
  busbw        algbw x 2(n-1)/n for all_reduce, x (n-1)/n for reduce_scatter and all_gather, x 1 for broadcast and sendrecv: to
               compare with the links' bandwidth whatever the number of devices n
  #wrong       elements, over all devices, that differ from a plain computation (exit code 1)
redop avg is the mean. sendrecv: every device sends to the next one and receives from the one before. In a trace each size is a
step.)";

base::Expected<std::optional<AllReduceOptions>> parse_options(
    std::span<std::string const> arguments) {
  AllReduceOptions o;
  constexpr int64_t kMaxIterations = 1'000'000;

  CLI::App app(kAllReduceDescription, "stepscope run allreduce");
  app.option_defaults()->always_capture_default();
  app.footer(kFooter);

  app.add_option("--device", o.device, "host:N, or cuda:I,cuda:J");
  app.add_option("--op", o.op, "all_reduce, reduce_scatter, all_gather, broadcast, sendrecv");
  app.add_option("--min-bytes", o.min_bytes, "smallest message: bytes, or 1K, 16M, 1G")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--max-bytes", o.max_bytes, "largest message")->transform(CLI::AsSizeValue(false));
  app.add_option("--factor", o.factor, "from one size to the next");
  app.add_option("--iterations", o.iterations, "measured, of each size")
      ->check(CLI::Range(int64_t{1}, kMaxIterations));
  app.add_option("--warmup", o.warmup, "iterations before those")
      ->check(CLI::Range(int64_t{0}, kMaxIterations));
  app.add_flag("--check,!--no-check", o.check,
               "compare every element of one more iteration with a plain computation");

  app.add_option("--memory-limit", o.memory_limit_mib, "MiB that a device may hold")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 32U));
  app.add_flag("--json", o.json, "print a machine-readable summary to stdout, the table to stderr");

  auto const go_on = parse_arguments(app, "allreduce", arguments);
  if (!go_on) return base::fail_with(go_on);
  if (!*go_on) return std::nullopt;
  return o;
}

std::string summarize(AllReduceOptions const& o, std::vector<AllReduceRow> const& rows) {
  nlohmann::json sizes = nlohmann::json::array();
  for (AllReduceRow const& row : rows) {
    sizes.push_back({{"bytes", row.bytes},
                     {"count", row.count},
                     {"time_us", row.time_us},
                     {"algbw_gbps", row.algbw_gbps},
                     {"busbw_gbps", row.busbw_gbps},
                     {"wrong", row.checked ? nlohmann::json(row.wrong) : nlohmann::json()}});
  }

  return nlohmann::json({{"workload", "allreduce"},
                         {"device", o.device},
                         {"op", o.op},
                         {"iterations", o.iterations},
                         {"warmup", o.warmup},
                         {"sizes", sizes}})
      .dump();
}

}  // namespace

double bus_factor(CollectiveOp op, size_t members) {
  if (members < 2) return 0;
  auto const n = static_cast<double>(members);
  auto const row = std::find_if(kOps.begin(), kOps.end(),
                                [&](BenchmarkedOp const& known) { return known.op == op; });
  return row == kOps.end() || row->bus_shares == 0 ? 1 : row->bus_shares * (n - 1) / n;
}

base::Expected<std::vector<AllReduceRow>> measure_all_reduce(AllReduceOptions const& o,
                                                             std::FILE* log) {
  if (auto good = check_options(o); !good) return base::fail_with(good);

  auto op = find_op(o.op);
  if (!op) return base::fail_with(op);
  auto group = open_devices(o.device, {o.memory_limit_mib << 20U});
  if (!group) return base::fail_with(group);
  Job job{o, *op, make_counts(o, group->devices.size()), std::move(*group)};

  std::vector<Worker> workers;
  for (auto& device : job.group.devices) {
    auto worker = make_worker(job, *device);
    if (!worker) return base::fail_with(worker);
    workers.push_back(std::move(*worker));
  }

  std::vector<std::thread> threads;
  for (Worker& w : workers) threads.emplace_back([&job, &w] { run_worker(job, w); });
  for (std::thread& thread : threads) thread.join();

  if (auto good = check_devices(job.group); !good) return base::fail_with(good);

  std::vector<AllReduceRow> rows;
  for (size_t size = 0; size < job.counts.size(); ++size)
    rows.push_back(make_row(job, workers, size));
  if (log != nullptr) print_rows(log, job, rows);
  return rows;
}

base::Expected<int> run_all_reduce(std::span<std::string const> arguments) {
  auto const options = parse_options(arguments);
  if (!options) return base::fail_with(options);
  if (!*options) return 0;  // --help
  AllReduceOptions const& o = **options;

  auto const rows = measure_all_reduce(o, o.json ? stderr : stdout);
  if (!rows) return base::fail("run allreduce: {}", rows.error().message);
  if (o.json) fmt::print("{}\n", summarize(o, *rows));

  bool const wrong = std::any_of(rows->begin(), rows->end(),
                                 [](AllReduceRow const& row) { return row.wrong > 0; });
  return wrong ? 1 : 0;
}

}  // namespace stepscope::workloads
