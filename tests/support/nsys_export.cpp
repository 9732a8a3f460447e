#include "tests/support/nsys_export.h"

#include <cstring>

#include <fmt/format.h>
#include <sqlite3.h>

#include "trace/base/check.h"

namespace stepscope::support {

char const* const kNsysSchema = R"sql(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT NOT NULL, nameEnum INTEGER, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, smCount INTEGER, cuDevice INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER);
CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INTEGER NOT NULL, hwId INTEGER, vmId INTEGER, processId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, priority INTEGER, flag INTEGER NOT NULL);
CREATE TABLE TARGET_INFO_NVTX_CUDA_DEVICE (name TEXT NOT NULL, hwId INTEGER, vmId INTEGER, deviceId INTEGER NOT NULL);
CREATE TABLE TARGET_INFO_NVTX_CUDA_STREAM (name TEXT NOT NULL, hwId INTEGER, vmId INTEGER, processId INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL);
CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER NOT NULL, sourceId INTEGER, typeName TEXT, metricId INTEGER NOT NULL, metricName TEXT NOT NULL);
CREATE TABLE GPU_METRICS (rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER NOT NULL, metricId INTEGER NOT NULL, value INTEGER NOT NULL);
CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER NOT NULL, timestampType INTEGER, source INTEGER, severity INTEGER NOT NULL, text TEXT NOT NULL,
  globalPid INTEGER);
CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL);
CREATE TABLE MPI_COMMUNICATORS (rank INTEGER, timestamp INTEGER, commHandle INTEGER, parentHandle INTEGER, localRank INTEGER, size INTEGER,
  groupRoot INTEGER, groupRootUid INTEGER, members TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
  shortName INTEGER NOT NULL, mangledName INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,
  blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER, graphId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER,
  dstKind INTEGER, srcDeviceId INTEGER, dstDeviceId INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, graphId INTEGER NOT NULL, graphExecId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL,
  eventId INTEGER NOT NULL, eventSyncId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL, eventSyncId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, address INTEGER NOT NULL, pc INTEGER, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL,
  memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, streamId INTEGER, localMemoryPoolAddress INTEGER,
  localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER,
  text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER,
  doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);
CREATE TABLE NVTX_PAYLOAD_SCHEMAS (domainId INTEGER, schemaId INTEGER, name TEXT, type INTEGER, flags INTEGER, numEntries INTEGER,
  payloadSize INTEGER, alignTo INTEGER);
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER NOT NULL, schemaId INTEGER NOT NULL, idx INTEGER NOT NULL, flags INTEGER,
  type INTEGER, name TEXT, description TEXT, arrayOrUnionDetail INTEGER, offset INTEGER);
CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER, globalTid INTEGER, nameId INTEGER NOT NULL,
  returnValue INTEGER, nestingLevel INTEGER, callchainId INTEGER, argumentsId INTEGER);
CREATE TABLE CUBLAS_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER, globalTid INTEGER, nameId INTEGER NOT NULL);
CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, commUid INTEGER,
  rootRank INTEGER, size INTEGER, recvSize INTEGER, requestHandle INTEGER);
CREATE TABLE MPI_P2P_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, commUid INTEGER,
  tag INTEGER, remoteRank INTEGER, size INTEGER, requestHandle INTEGER);
CREATE TABLE MPI_OTHER_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER);
CREATE TABLE PROFILER_OVERHEAD (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL, overheadType INTEGER NOT NULL);
)sql";

namespace {

/// Rows of one process; times are its number of the job × 10,000 later.
std::string nsys_process_sql(int64_t process, int device) {
  using fmt::arg;
  return fmt::format(
      R"sql(
INSERT INTO PROCESSES VALUES ({pid}, {p}, 'python3');
INSERT INTO ThreadNames VALUES (20, 0, {tid});
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES ({d}, {d}, {p}, 'uuid', 132);
INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (7, 0, 0, {p}, {c}, 0, 3);
INSERT INTO TARGET_INFO_NVTX_CUDA_STREAM VALUES ('copies', 0, 0, {p}, {d}, {c}, 13);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1100, 0, {tid}, 11, 1, 0, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1200, 1250, 0, {tid}, 12, 2, 0, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1300, 1310, 0, {tid}, 13, 3, 0, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1400, 3000, 0, {tid}, 14, 4, 0, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (3100, 3200, 0, {tid}, 15, 5, 0, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (3300, 3301, 0, {tid}, 16, 6, 600, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (3400, 3450, 1, {tid}, 17, 7, 0, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (3500, 3520, 0, {tid}, 18, 8, 0, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (3600, 3650, 0, {tid}, 19, 9, 0, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 2500, {d}, {c}, NULL, 7, 11, {pid}, 30, 31, 32, 40, 8, 2, 1, 128, 1, 1, 1024, 512, NULL, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (4000, 4600, {d}, {c}, NULL, 7, 17, {pid}, 33, 34, NULL, 96, 24, 1, 1, 544, 1, 1, 0, 0, NULL, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5000, 5100, {d}, {c}, NULL, 7, 19, {pid}, 30, 31, 32, 40, 8, 1, 1, 128, 1, 1, 0, 0, 21474836481, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (2600, 2700, {d}, {c}, 13, 12, {pid}, 4096, 1, 1, 2, NULL, NULL, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (2800, 2850, {d}, {c}, 7, 13, {pid}, 0, 256, NULL, 2);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (6000, 6900, {d}, {c}, 7, 19, {pid}, 9, 10);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, {d}, {c}, 13, 18, {pid}, 77, 5);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1400, 3000, 0, {c}, 7, 14, {pid}, 3, 4294967295, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (3530, 3540, 0, {c}, 7, 20, {pid}, 2, 77, 5);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (3150, {pid}, {d}, {c}, 65536, 0, 1048576, 2, 0, NULL, 15, NULL, NULL, NULL, NULL, NULL);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (7000, {pid}, {d}, {c}, 65536, 0, 1048576, 2, 1, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO NVTX_EVENTS VALUES (900, 3700, 59, NULL, NULL, NULL, 'step 5', {tid}, NULL, NULL, 0, {none});
INSERT INTO NVTX_EVENTS VALUES (950, 1150, 59, NULL, 3, 16711680, NULL, {tid}, NULL, 21, 0, {none});
INSERT INTO NVTX_EVENTS VALUES (3380, 3460, 59, NULL, NULL, NULL, NULL, {tid}, NULL, 22, 1, {none});
INSERT INTO NVTX_EVENTS VALUES (3700, NULL, 34, NULL, NULL, NULL, 'loss', {tid}, NULL, NULL, 0, NULL, NULL, 0.5, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO NVTX_EVENTS VALUES (100, NULL, 75, NULL, NULL, NULL, 'NCCL', {tid}, NULL, NULL, 1, {none});
INSERT INTO NVTX_EVENTS VALUES (3800, 3900, 60, 1, NULL, NULL, 'begun here', {tid}, {tid} + 1, NULL, 0, {none});
INSERT INTO OSRT_API VALUES (3910, 3950, 0, {tid}, 23, 0, 0, 0, 0);
INSERT INTO CUBLAS_EVENTS VALUES (960, 1140, 0, {tid}, 24);
INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (3960, 3980, {tid}, 25, 1, 44, 0, 8, 8, NULL);
INSERT INTO PROFILER_OVERHEAD VALUES (3990, 3995, {tid}, 26, 3);
)sql",
      arg("p", process), arg("pid", nsys_process(process)),
      arg("tid", nsys_thread(process, process + 1)), arg("d", device), arg("c", device + 1),
      arg("none", "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"));
}

}  // namespace

std::string nsys_job_sql() {
  std::string sql = kNsysSchema;
  sql += R"sql(
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cudaMemcpyAsync_v3020'), (3, 'cudaMemsetAsync_v3020'),
  (4, 'cudaStreamSynchronize_v3020'), (5, 'cudaMalloc_v3020'), (6, 'cudaEventQuery_v3020'), (7, 'cuLaunchKernelEx'),
  (8, 'cudaEventRecord_v3020'), (9, 'cudaGraphLaunch_v10000'), (20, 'trainer'), (21, 'forward'), (22, 'ncclAllReduce'), (23, 'read'),
  (24, 'cublasGemmEx'), (25, 'MPI_Allreduce'), (26, 'CUPTI Buffer flush'), (30, 'void add<float>(float*, int)'), (31, 'add'),
  (32, '_Z3addIfEvPfi'), (33, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)'),
  (34, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL');
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2026.2.1.210'), ('EXPORT_SCHEMA_VERSION', '3.25.0');
INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COMMAND', 'torchrun'), ('PROCESS_0:ARGUMENT_0', 'train.py');
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779782330176752435, '2026-05-26T07:58:50', '2026-05-26T07:58:50', 28254349605);
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, 'Local', 'Hostname', 619, 'node-7');
INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'NVIDIA H100', 85899345920, 132, 0), (0, 1, 'NVIDIA H100', 85899345920, 132, 1);
INSERT INTO TARGET_INFO_GPU_METRICS VALUES (256, 1, 'GPU 0', 3, 'SM Active [%]'), (257, 1, 'GPU 1', 3, 'SM Active [%]');
INSERT INTO GPU_METRICS VALUES (0, 2000, 256, 3, 50), (0, 2100, 257, 3, 75), (0, 2200, 256, 3, 51);
)sql";

  sql += nsys_process_sql(100, 0);
  sql += nsys_process_sql(101, 1);

  // A shell that was not traced.
  sql += fmt::format("INSERT INTO PROCESSES VALUES ({}, 99, 'bash');", nsys_process(99));
  sql += fmt::format("INSERT INTO OSRT_API VALUES (10, 20, 0, {}, 23, 0, 0, 0, 0);",
                     nsys_thread(99, 99));
  return sql;
}

std::string nsys_database(std::string_view sql, int page_bytes) {
  sqlite3* connection = nullptr;
  STEPSCOPE_CHECK(sqlite3_open(":memory:", &connection) == SQLITE_OK);

  std::string const all =
      fmt::format("PRAGMA page_size={}; BEGIN; ", page_bytes) + std::string(sql) + "; COMMIT;";
  char* message = nullptr;
  if (sqlite3_exec(connection, all.c_str(), nullptr, nullptr, &message) != SQLITE_OK) {
    fmt::print(stderr, "{}\n", message);
    STEPSCOPE_CHECK(false);
  }

  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(connection, "main", &size, 0);
  std::string result(reinterpret_cast<char const*>(bytes), static_cast<size_t>(size));

  sqlite3_free(bytes);
  sqlite3_close(connection);
  return result;
}

}  // namespace stepscope::support
