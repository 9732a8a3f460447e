#include "trace/import/formats/rocpd/rocpd_tables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>

#include "trace/base/format.h"
#include "trace/import/common/json/cursor.h"

namespace stepscope::import::rocpd {
namespace {

constexpr size_t kMostEndings = 4096, kMostProcesses = 4096;
constexpr size_t kMostShownBytes = 4096;
constexpr int32_t kMostRocpdRanks = 1 << 24;

/// As launchers of jobs tell their processes.
struct RocpdLauncher {
  std::string_view rank, world_size;
};
constexpr std::array kRocpdLaunchers = {
    RocpdLauncher{"RANK", "WORLD_SIZE"},
    RocpdLauncher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    RocpdLauncher{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}, RocpdLauncher{"PMI_RANK", "PMI_SIZE"}};

std::string shown(std::string_view text) {
  return base::printable(base::valid_utf8(text, kMostShownBytes));
}

/// Numbers of the variables of a JSON object: {"RANK":"3", …}.
std::map<std::string_view, int32_t> numbers_of_environment(std::string_view json) {
  std::map<std::string_view, int32_t> numbers;
  JsonCursor cursor(json);
  if (cursor.peek() != '{') return numbers;

  cursor.object([&](std::string_view name) {
    if (cursor.peek() != '"') return void(cursor.value());
    std::string_view const value = cursor.string();
    int32_t number = 0;
    auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    bool const is_number = error == std::errc() && end == value.data() + value.size() &&
                           number >= 0 && number <= kMostRocpdRanks;
    if (is_number) numbers.emplace(name, number);
  });
  return numbers;
}

void take_rank(rocm::Process& process, std::string_view environment) {
  auto const numbers = numbers_of_environment(environment);
  for (RocpdLauncher const& launcher : kRocpdLaunchers) {
    auto const rank = numbers.find(launcher.rank), world = numbers.find(launcher.world_size);
    if (rank == numbers.end()) continue;
    // A job of one task may start more processes, which all inherit its number.
    bool const is_task = launcher.rank != kRocpdLaunchers.front().rank;
    if (is_task && (world == numbers.end() || world->second < 2)) continue;

    process.stated_rank = rank->second;
    if (world != numbers.end() && world->second > rank->second)
      process.builder.info().world_size = world->second;
    return;
  }
}

/// The member "message" of a JSON object.
std::string message_of(std::string_view json) {
  std::string message;
  JsonCursor cursor(json);
  if (cursor.peek() != '{') return message;

  cursor.object([&](std::string_view key) {
    if (is(key, "message") && cursor.peek() == '"')
      message = json_text(cursor.string(), rocm::kMostNameBytes);
    else
      cursor.value();
  });
  return message;
}

}  // namespace

std::vector<std::string> endings_of_tables(Database const& database) {
  std::set<std::string> endings;
  for (std::string_view const table : database.tables())
    for (std::string_view const prefix :
         {"rocpd_info_process", "rocpd_kernel_dispatch", "rocpd_region", "rocpd_memory_copy"})
      if (table.starts_with(prefix) && endings.size() < kMostEndings)
        endings.emplace(table.substr(prefix.size()));
  return {endings.begin(), endings.end()};
}

void EventsOfRows::add(int64_t id, EventOfRow const& event) {
  constexpr uint64_t kSparse = 4, kFewIds = uint64_t{1} << 16U;
  auto const place = static_cast<uint64_t>(id);
  ++count_;

  if (id < 0 || place >= kFewIds + kSparse * count_) {
    others_.emplace(id, event);
    return;
  }
  if (place >= packed_.size()) packed_.resize(std::max<size_t>(place + 1, packed_.size() * 2));
  packed_[place] = event;
}

EventOfRow EventsOfRows::of(int64_t id) const {
  if (id >= 0 && static_cast<uint64_t>(id) < packed_.size())
    return packed_[static_cast<size_t>(id)];
  auto const found = others_.find(id);
  return found == others_.end() ? EventOfRow() : found->second;
}

Descriptions::Descriptions(Database& source, std::string ending,
                           std::deque<rocm::Process>& processes)
    : database(source), ending_(std::move(ending)), processes_(processes) {
  read_texts();
  read_processes();
  read_agents();
  read_symbols();
  read_events();

  if (!packed_texts_) return;
  for (auto const& [id, of] : process_of_)
    of->builder.log().notes.emplace_back(
        "the database packs texts of ranges (LZ4), which Stepscope does not read: ranges have the "
        "names of their calls, and steps are not known by them");
}

std::string Descriptions::table(std::string_view name) const { return std::string(name) + ending_; }

std::string const* Descriptions::text(int64_t id) const {
  auto const found = texts_.find(id);
  return found == texts_.end() ? nullptr : &found->second;
}

std::string const* Descriptions::message(int64_t event) const {
  auto const found = messages_.find(event);
  return found == messages_.end() ? nullptr : &found->second;
}

uint64_t Descriptions::thread(int64_t id) const {
  auto const found = threads_.find(id);
  return found == threads_.end() ? static_cast<uint64_t>(std::max<int64_t>(0, id)) : found->second;
}

rocm::Process& Descriptions::process(int64_t id) {
  auto const found = process_of_.find(id);
  if (found != process_of_.end()) return *found->second;
  if (process_of_.size() >= kMostProcesses) return *process_of_.begin()->second;

  rocm::Process& process = processes_.emplace_back();
  process.builder.info().process_id = id;
  process_of_.emplace(id, &process);
  return process;
}

void Descriptions::read_texts() {
  TableScan scan(database, table("rocpd_string"), {"id", "string"});
  while (scan.next())
    texts_.try_emplace(scan.integer(0), scan.text(1).substr(0, rocm::kMostNameBytes));
}

void Descriptions::read_processes() {
  std::map<int64_t, std::string> hosts;
  TableScan nodes(database, table("rocpd_info_node"), {"id", "hostname"});
  while (nodes.next() && hosts.size() < kMostProcesses)
    hosts.try_emplace(nodes.integer(0), shown(nodes.text(1)));

  TableScan scan(database, table("rocpd_info_process"),
                 {"id", "nid", "pid", "command", "environment"});
  while (scan.next()) {
    rocm::Process& of = process(scan.integer(0));
    model::TraceInfo& info = of.builder.info();
    info.process_id = scan.integer(2);
    info.command = shown(scan.text(3));
    if (auto const host = hosts.find(scan.integer(1)); host != hosts.end())
      info.host = host->second;
    take_rank(of, scan.text(4));
  }

  TableScan threads(database, table("rocpd_info_thread"), {"id", "tid"});
  while (threads.next() && threads_.size() < rocm::kMostTracks)
    threads_.try_emplace(threads.integer(0),
                         static_cast<uint64_t>(std::max<int64_t>(0, threads.integer(1))));
}

/// rocpd numbers agents from 0; a handle of 0 stands for none.
void Descriptions::read_agents() {
  TableScan scan(database, table("rocpd_info_agent"),
                 {"id", "pid", "type", "type_index", "product_name", "name"});
  while (scan.next()) {
    rocm::Agent agent;
    agent.handle = static_cast<uint64_t>(scan.integer(0)) + 1;
    agent.is_gpu = scan.text(2) == "GPU";
    if (int64_t const number = scan.integer(3);
        !scan.is_null(3) && number >= 0 && number < static_cast<int64_t>(rocm::kMostAgents))
      agent.number = static_cast<int32_t>(number);

    agent.name = shown(scan.text(4));
    if (agent.name.empty()) agent.name = shown(scan.text(5));
    process(scan.integer(1)).add_agent(std::move(agent));
  }
}

void Descriptions::read_symbols() {
  TableScan scan(
      database, table("rocpd_info_kernel_symbol"),
      {"id", "pid", "display_name", "kernel_name", "arch_vgpr_count", "accum_vgpr_count"});
  while (scan.next()) {
    std::string name(scan.text(2));
    if (name.empty()) name = scan.text(3);

    int64_t const registers = std::clamp<int64_t>(scan.integer(4), 0, UINT16_MAX) +
                              std::clamp<int64_t>(scan.integer(5), 0, UINT16_MAX);
    process(scan.integer(1))
        .add_symbol(static_cast<uint64_t>(scan.integer(0)), rocm::without_descriptor(name),
                    static_cast<uint32_t>(registers));
  }
}

/// rocpd calls the correlation of rocprofv3 a stack.
void Descriptions::read_events() {
  TableScan scan(database, table("rocpd_event"), {"id", "stack_id", "category_id", "extdata"});
  while (scan.next()) {
    int64_t const id = scan.integer(0);
    events_.add(id, {static_cast<uint64_t>(scan.integer(1)), scan.integer(2)});

    std::string_view const more = scan.text(3);
    if (more.size() <= 2) continue;
    if (more.starts_with("LZ4F")) packed_texts_ = true;
    if (std::string message = message_of(more); !message.empty())
      messages_.try_emplace(id, std::move(message));
  }
}

}  // namespace stepscope::import::rocpd
