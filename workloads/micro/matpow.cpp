// Aⁿ + Bⁿ on one device and on two. From top to bottom: one device's matrices, a power, both ways,
// the whole job.
#include "workloads/micro/matpow.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tracer/api/annotate.h"
#include "workloads/backend/backend.h"
#include "workloads/data/random.h"
#include "workloads/options.h"
#include "workloads/thread_name.h"

namespace stepscope::workloads {
namespace {

using Clock = std::chrono::steady_clock;

int64_t median(std::vector<int64_t> values) {
  auto const middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Entries of deviation 1 / √size: the powers neither vanish nor overflow.
std::vector<float> random_matrix(MatpowOptions const& o, uint64_t number) {
  Random random = Random::of(o.seed, number);
  float const deviation = 1.0F / std::sqrt(static_cast<float>(o.size));
  std::vector<float> matrix(static_cast<size_t>(o.size * o.size));
  for (float& entry : matrix) entry = deviation * random.normal();
  return matrix;
}

/// One device's part: both matrices, and where powers are made.
struct Worker {
  Device* device = nullptr;
  std::unique_ptr<MatMul> product;
  Buffer a, b, even, odd, sum;
};

base::Expected<Worker> make_worker(Device& device, MatpowOptions const& o) {
  Worker w;
  w.device = &device;
  auto product = device.matmul("product", {1, o.size, o.size, o.size});
  if (!product) return base::fail_with(product);
  w.product = std::move(*product);
  size_t const bytes = static_cast<size_t>(o.size * o.size) * sizeof(float);
  for (auto const& [buffer, owner] : {std::pair{&w.a, "A"},
                                      {&w.b, "B"},
                                      {&w.even, "even power"},
                                      {&w.odd, "odd power"},
                                      {&w.sum, "sum"}}) {
    auto made = device.allocate(bytes, MemoryPurpose::kOther, owner);
    if (!made) return base::fail_with(made);
    *buffer = std::move(*made);
  }
  return w;
}

void upload(Worker& w, Buffer& to, std::vector<float> const& from, char const* name) {
  w.device->copy(StreamKind::kCompute, name, to.data(), from.data(), to.bytes(),
                 CopyDirection::kHostToDevice);
}

/// Enqueues the products; returns the buffer that will hold base to the `power`.
Buffer const& enqueue_power(Worker& w, Buffer const& base, int64_t power) {
  Buffer const* from = &base;
  for (int64_t n = 1; n < power; ++n) {
    Buffer const& to = n % 2 == 1 ? w.odd : w.even;
    w.product->run(from->floats(), base.floats(), to.floats());
    from = &to;
  }
  return *from;
}

void add_to_sum(Worker& w, Buffer const& power) {
  w.device->run("sum", elementwise::AddScaled{power.floats(), w.sum.floats(), 1.0F},
                w.sum.bytes() / sizeof(float));
}

/// Both powers one after the other on one device.
void on_one_device(Worker& w, MatpowOptions const& o, std::vector<float>& result) {
  size_t const count = w.sum.bytes() / sizeof(float);
  w.device->run("clear", elementwise::Fill{w.sum.floats(), 0.0F}, count);
  add_to_sum(w, enqueue_power(w, w.a, o.power));
  add_to_sum(w, enqueue_power(w, w.b, o.power));
  w.device->copy(StreamKind::kCompute, "d2h.sum", result.data(), w.sum.data(), w.sum.bytes(),
                 CopyDirection::kDeviceToHost);
  w.device->synchronize();
}

/// A power each; the second device's goes to the first, which adds them.
void on_two_devices(Worker& first, Worker& second, MatpowOptions const& o,
                    std::vector<float>& result) {
  std::vector<float> moved(result.size());
  std::thread other([&] {
    name_this_thread("drive " + second.device->name());
    Buffer const& power = enqueue_power(second, second.b, o.power);
    second.device->copy(StreamKind::kCompute, "d2h.power", moved.data(), power.data(),
                        power.bytes(), CopyDirection::kDeviceToHost);
    second.device->synchronize();
  });
  Buffer const& power = enqueue_power(first, first.a, o.power);
  other.join();
  upload(first, first.sum, moved, "h2d.power");
  add_to_sum(first, power);
  first.device->copy(StreamKind::kCompute, "d2h.sum", result.data(), first.sum.data(),
                     first.sum.bytes(), CopyDirection::kDeviceToHost);
  first.device->synchronize();
}

base::Expected<std::optional<MatpowOptions>> parse_options(std::span<std::string const> arguments) {
  MatpowOptions o;
  CLI::App app(kMatpowDescription, "stepscope run matpow");
  app.option_defaults()->always_capture_default();
  app.add_option("--device", o.device, "host:N or another backend, at least two devices");
  add_precision(app, o.precision);
  add_placement(app, o.log_placement, o.soft_placement);
  app.add_option("--size", o.size, "rows and columns of the matrices")
      ->check(CLI::Range(1, 65'536));
  app.add_option("--power", o.power, "the exponent n")->check(CLI::Range(1, 100'000));
  app.add_option("--repeat", o.repeat, "repetitions of each way; the median counts")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--seed", o.seed, "the matrices follow from it");
  app.add_option("--memory-limit", o.memory_limit_mib, "MiB that a device may hold")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 32U));
  app.add_flag("--json", o.json, "print a machine-readable result to stdout");
  auto const go_on = parse_arguments(app, "matpow", arguments);
  if (!go_on) return base::fail_with(go_on);
  if (!*go_on) return std::nullopt;
  return o;
}

}  // namespace

double MatpowResult::speedup() const {
  return static_cast<double>(median(one_device_ns)) / static_cast<double>(median(two_devices_ns));
}

base::Expected<MatpowResult> compute_matpow(MatpowOptions const& o) {
  auto group = open_devices(o.device, {.memory_limit_bytes = o.memory_limit_mib << 20U,
                                       .precision = o.precision,
                                       .log_placement = o.log_placement,
                                       .soft_placement = o.soft_placement});
  if (!group) return base::fail_with(group);
  if (group->devices.size() < 2)
    return base::fail("run matpow: {} is one device, use two, for example host:2", o.device);
  std::vector<float> const a = random_matrix(o, 0), b = random_matrix(o, 1);
  std::vector<Worker> workers;
  for (size_t d = 0; d < 2; ++d) {
    auto worker = make_worker(*group->devices[d], o);
    if (!worker) return base::fail_with(worker);
    upload(*worker, worker->a, a, "h2d.A");
    upload(*worker, worker->b, b, "h2d.B");
    worker->device->synchronize();
    workers.push_back(std::move(*worker));
  }
  MatpowResult result;
  result.one_device.resize(static_cast<size_t>(o.size * o.size));
  result.two_devices.resize(result.one_device.size());
  // Both ways in turn, so that a machine that slows down slows both; the first repetition warms up.
  for (int64_t i = 0; i <= o.repeat; ++i) {
    api::Step const step(i);
    auto const begin = Clock::now();
    {
      api::Phase const phase("one device");
      on_one_device(workers[0], o, result.one_device);
    }
    auto const middle = Clock::now();
    {
      api::Phase const phase("two devices");
      on_two_devices(workers[0], workers[1], o, result.two_devices);
    }
    auto const end = Clock::now();
    if (i == 0) continue;
    result.one_device_ns.push_back((middle - begin).count());
    result.two_devices_ns.push_back((end - middle).count());
  }
  if (auto good = check_devices(*group); !good)
    return base::fail("run matpow: {}", good.error().message);
  return result;
}

base::Expected<int> run_matpow(std::span<std::string const> arguments) {
  auto const options = parse_options(arguments);
  if (!options) return base::fail_with(options);
  if (!*options) return 0;  // --help
  MatpowOptions const& o = **options;
  auto const result = compute_matpow(o);
  if (!result) return base::fail_with(result);
  auto const one = static_cast<double>(median(result->one_device_ns)),
             two = static_cast<double>(median(result->two_devices_ns));
  if (o.json) {
    fmt::print("{}\n", nlohmann::json{{"workload", "matpow"},
                                      {"device", o.device},
                                      {"size", o.size},
                                      {"power", o.power},
                                      {"one_device_ns", result->one_device_ns},
                                      {"two_devices_ns", result->two_devices_ns},
                                      {"speedup", result->speedup()}}
                           .dump());
    return 0;
  }
  constexpr double kMs = 1e6;
  fmt::print("A^{0} + B^{0}, {1} x {1} float32, on {2} (median of {3})\n", o.power, o.size,
             o.device, o.repeat);
  fmt::print("one device   {:10.2f} ms\ntwo devices  {:10.2f} ms\nspeed-up     {:10.2f} x\n",
             one / kMs, two / kMs, result->speedup());
  return 0;
}

}  // namespace stepscope::workloads
