// The first inputs of the fuzz target nsys: small databases with a few tables each. usage:
// make_nsys_corpus FOLDER
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "tests/support/nsys_export.h"
#include "tests/support/packed.h"

namespace {

using namespace stepscope;

/// The definitions of some tables of the schema.
std::string tables(std::initializer_list<std::string_view> names) {
  std::string const schema = support::kNsysSchema;
  std::string sql;
  for (std::string_view const name : names) {
    size_t const at = schema.find("CREATE TABLE " + std::string(name) + " ");
    sql += schema.substr(at, schema.find(';', at) + 1 - at);
  }
  return sql;
}

std::string nccl_sql() {
  auto const tid = support::nsys_thread(5, 6);
  return tables({"StringIds", "NVTX_EVENTS", "NVTX_PAYLOAD_SCHEMA_ENTRIES",
                 "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL"}) +
         fmt::format(
             "INSERT INTO StringIds VALUES (1, 'cuLaunchKernelEx'), (2, "
             "'ncclDevKernel_AllReduce_Sum_f32_RING_LL');INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES "
             "VALUES (1, 7, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL), (1, 7, 1, "
             "NULL, 22, 'Message size "
             "[bytes]', NULL, NULL, 8);"
             "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId, "
             "binaryData) VALUES (10, 20, 59, 'ncclGroupStart', {0}, 1, NULL), (30, 40, 59, "
             "'ncclAllReduce', {0}, 1, "
             "x'"
             "0100000000000000070000000000000010000000000000003000000000000000010000000000000000010"
             "00000000000'), (50, 90, 59, 'ncclGroupEnd', {0}, 1, NULL);"
             "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId, jsonText) "
             "VALUES (5, 6, 59, 'ncclCommInitRank', {0}, 1, "
             "'{{\"NCCL communicator ID\": \"1\", \"No. of ranks\": 2, \"Rank\": 1}}');"
             "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (60, 70, 1, {0}, 3, 1, 0, NULL);"
             "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
             "correlationId, globalPid, demangledName, shortName, gridX) VALUES "
             "(80, 100, 0, 1, 7, 3, {1}, 2, 2, 8);",
             tid, support::nsys_process(5));
}

std::string memory_sql() {
  auto const pid = support::nsys_process(5);
  return tables({"CUDA_GPU_MEMORY_USAGE_EVENTS", "GPU_METRICS", "TARGET_INFO_GPU_METRICS",
                 "CUPTI_ACTIVITY_KIND_MEMCPY"}) +
         fmt::format(
             "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (10, {0}, 0, 1, 4096, 0, 100, 2, 0, "
             "NULL, 1, 7, 9, 0, 1000, 100), (20, {0}, 0, 1, 4096, 0, 100, 2, 1, "
             "NULL, 2, 7, 9, 0, 1000, 0);"
             "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (5, 9, 0, 1, 7, 3, {0}, 64, 10, 2, 2, "
             "0, 1, NULL);"
             "INSERT INTO TARGET_INFO_GPU_METRICS VALUES (256, 0, '', 1, 'SM Active'); INSERT INTO "
             "GPU_METRICS VALUES (0, 12, 256, 1, 50), (0, 13, 256, 1, 51);",
             pid);
}

void write(std::filesystem::path const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} FOLDER\n", argv[0]);
    return 2;
  }

  std::filesystem::path const folder(argv[1]);
  std::filesystem::create_directories(folder);
  constexpr int kSmallPages = 512;
  write(folder / "job.sqlite", support::nsys_database(support::nsys_job_sql(), kSmallPages));
  write(folder / "nccl.sqlite", support::nsys_database(nccl_sql(), kSmallPages));
  write(folder / "memory.sqlite", support::nsys_database(memory_sql(), kSmallPages));

  std::string const bytes = support::nsys_database(nccl_sql(), kSmallPages);
  constexpr int kSmallest = 19;
  write(folder / "nccl.sqlite.zst", support::packed_by_zstd(bytes, kSmallest));
  return 0;
}
