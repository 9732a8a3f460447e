#include "tracer/nvtx/registry.h"

#include <algorithm>

#include "tracer/nvtx/payload/record_layout.h"
#include "tracer/nvtx/thread_recorder.h"

namespace stepscope::tracer {
namespace {

/// Dynamic schema ids begin here (NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START).
constexpr uint64_t kFirstDynamicSchema = uint64_t{1} << 32;
/// Texts a program may register; one that registers more builds them from data and must pay for
/// that itself.
constexpr size_t kMaxTexts = 1 << 20;
/// They are written with every description of the trace.
constexpr size_t kMaxCategories = 1024;

}  // namespace

Registry::Registry() : next_schema_(kFirstDynamicSchema) {
  domains_.resize(kFirstOtherDomain);
  domains_[kAnnotationDomain] = "stepscope";
  domains_[kDeviceDomain] = "stepscope.device";
}

uint16_t Registry::domain(std::string_view name) {
  std::lock_guard const lock(mutex_);
  auto const place = std::find(domains_.begin() + 1, domains_.end(), name);
  if (place != domains_.end()) return static_cast<uint16_t>(place - domains_.begin());
  if (domains_.size() == kMaxDomains) return kMaxDomains - 1;
  domains_.emplace_back(name);
  return static_cast<uint16_t>(domains_.size() - 1);
}

std::string Registry::domain_name(uint16_t domain) const {
  std::lock_guard const lock(mutex_);
  return domain < domains_.size() ? domains_[domain] : std::string();
}

uint32_t Registry::text(std::string_view text) {
  std::lock_guard const lock(mutex_);
  if (auto const found = text_handles_.find(text); found != text_handles_.end())
    return found->second;
  if (texts_.size() == kMaxTexts) return 0;
  texts_.emplace_back(text);
  auto const handle = static_cast<uint32_t>(texts_.size());
  text_handles_.emplace(texts_.back(), handle);
  return handle;
}

std::string Registry::text_of(uint32_t handle) const {
  std::lock_guard const lock(mutex_);
  return handle >= 1 && handle <= texts_.size() ? texts_[handle - 1] : std::string();
}

void Registry::name_thread(int64_t thread_id, std::string_view name) {
  std::lock_guard const lock(mutex_);
  thread_names_[thread_id] = name;
}

std::optional<std::string> Registry::thread_name(int64_t thread_id) const {
  std::lock_guard const lock(mutex_);
  auto const found = thread_names_.find(thread_id);
  return found == thread_names_.end() ? std::nullopt : std::optional(found->second);
}

void Registry::name_device(int32_t device, std::string_view name) {
  std::lock_guard const lock(mutex_);
  device_names_[device] = name;
}

std::map<int32_t, std::string> Registry::device_names() const {
  std::lock_guard const lock(mutex_);
  return device_names_;
}

void Registry::name_category(uint16_t domain, uint32_t category, std::string_view name) {
  std::lock_guard const lock(mutex_);
  if (category_names_.size() == kMaxCategories && !category_names_.contains({domain, category}))
    return;
  category_names_[{domain, category}] = name;
}

std::map<std::pair<uint16_t, uint32_t>, std::string> Registry::category_names() const {
  std::lock_guard const lock(mutex_);
  return category_names_;
}

uint64_t Registry::add_schema(uint16_t domain, uint64_t id, Schema schema) {
  std::lock_guard const lock(mutex_);
  if (id == 0) id = next_schema_++;
  schemas_[{domain, id}] = std::make_shared<Schema const>(std::move(schema));
  schema_version_.fetch_add(1, std::memory_order_release);
  return id;
}

std::shared_ptr<Schema const> Registry::schema(uint16_t domain, uint64_t id) const {
  std::lock_guard const lock(mutex_);
  auto const found = schemas_.find({domain, id});
  return found == schemas_.end() ? nullptr : found->second;
}

}  // namespace stepscope::tracer
