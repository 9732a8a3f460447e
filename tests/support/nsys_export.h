// Small exports of Nsight Systems, made by SQLite from SQL: the tables of schema 3.25 (2026.2), or
// parts of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope::support {

/// The definitions of the tables that an importer may read, as SQL.
extern char const* const kNsysSchema;

/// Serialized ids of a thread and of a process, as every version has them.
constexpr int64_t nsys_thread(int64_t process, int64_t thread) {
  return int64_t{1} << 48 | process << 24 | thread;
}
constexpr int64_t nsys_process(int64_t process) { return nsys_thread(process, 0); }

/// The bytes of a database in which the statements were run. A wrong statement ends the program:
/// the caller's fault.
std::string nsys_database(std::string_view sql, int page_bytes = 1024);

/// Two processes (100 and 101; one GPU each), with a row of everything.
std::string nsys_job_sql();

}  // namespace stepscope::support
