// What a program registers with NVTX once and refers to later: domains, texts, payload schemas,
// names of threads, devices and categories. It outlives sessions (a forked child goes on using its
// parent's handles). Thread-safe; nothing here is on a hot path.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracer/nvtx/payload/schema.h"

namespace stepscope::tracer {

class Registry {
 public:
  Registry();

  /// The number of the domain of that name; the same name gets the same number. From kMaxDomains on
  /// all share the last one.
  uint16_t domain(std::string_view name);
  [[nodiscard]] std::string domain_name(uint16_t domain) const;

  /// A handle > 0 for the text; the same text gets the same handle. 0 when there are too many.
  uint32_t text(std::string_view text);
  /// Empty when the handle is unknown.
  [[nodiscard]] std::string text_of(uint32_t handle) const;

  void name_thread(int64_t thread_id, std::string_view name);
  [[nodiscard]] std::optional<std::string> thread_name(int64_t thread_id) const;

  /// `device`: CUDA's number.
  void name_device(int32_t device, std::string_view name);
  [[nodiscard]] std::map<int32_t, std::string> device_names() const;

  /// Names a category of that domain; the first 1,024 of the process are kept.
  void name_category(uint16_t domain, uint32_t category, std::string_view name);
  /// Keys are domain and number.
  [[nodiscard]] std::map<std::pair<uint16_t, uint32_t>, std::string> category_names() const;

  /// Registers the schema under `id`, or under a new one when that is 0; returns the id.
  uint64_t add_schema(uint16_t domain, uint64_t id, Schema schema);
  [[nodiscard]] std::shared_ptr<Schema const> schema(uint16_t domain, uint64_t id) const;
  /// Changes whenever a schema is added: what was looked up before may be out of date.
  [[nodiscard]] uint64_t schema_version() const {
    return schema_version_.load(std::memory_order_acquire);
  }

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> domains_;
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, uint32_t> text_handles_;
  std::unordered_map<int64_t, std::string> thread_names_;
  std::map<int32_t, std::string> device_names_;
  std::map<std::pair<uint16_t, uint32_t>, std::string> category_names_;
  std::map<std::pair<uint16_t, uint64_t>, std::shared_ptr<Schema const>> schemas_;
  uint64_t next_schema_;
  std::atomic<uint64_t> schema_version_{0};
};

}  // namespace stepscope::tracer
