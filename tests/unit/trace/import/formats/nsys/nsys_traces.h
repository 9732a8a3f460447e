// Reads small exports of Nsight Systems that tests write as SQL.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/nsys_export.h"
#include "trace/import/formats/nsys/nsys_importer.h"

namespace stepscope::import::nsys_tests {

using support::nsys_database;
using support::nsys_job_sql;
using support::nsys_process;
using support::nsys_thread;

inline base::Expected<std::vector<model::Trace>> read_bytes(
    std::string const& bytes, std::string const& name = "report.sqlite") {
  return read_nsys_export(Input(std::as_bytes(std::span(bytes)), name));
}

inline std::vector<model::Trace> read_sql(std::string const& sql,
                                          std::string const& name = "report.sqlite") {
  auto traces = read_bytes(nsys_database(sql), name);
  EXPECT_TRUE(traces) << traces.error().message;
  return traces ? std::move(*traces) : std::vector<model::Trace>();
}

/// The only row of that name; the test fails where there is none.
inline uint32_t row_named(model::Trace const& trace, std::string_view name) {
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (trace.name(row) == name) return row;
  ADD_FAILURE() << "no event is named " << name;
  return 0;
}

template <class Detail>
Detail detail_named(model::Trace const& trace, std::string_view name) {
  return trace.detail<Detail>(row_named(trace, name));
}

/// An export with the schema alone, and these statements.
inline std::string small(std::string const& sql) {
  return std::string(support::kNsysSchema) +
         "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'add'); " + sql;
}

/// A process with one kernel on a device.
inline std::string nsys_worker(int64_t process, int device, int64_t start = 10) {
  return fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
      "globalPid, demangledName, shortName) VALUES ({}, {}, {}, 1, 7, {}, 2, 2);",
      start, start + 5, device, nsys_process(process));
}

}  // namespace stepscope::import::nsys_tests
