// After "Database File Format" of SQLite's documentation: the header is the first 100 bytes,
// numbers are big-endian.
#include "trace/import/common/database/database_image.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string_view>
#include <utility>

#include "trace/base/format.h"

namespace stepscope::import {
namespace {

using base::fail;

using namespace std::string_view_literals;
constexpr std::string_view kMagic = "SQLite format 3\0"sv;
constexpr size_t kHeaderBytes = 100;
constexpr size_t kPageSizeAt = 16, kWriteVersionAt = 18, kReadVersionAt = 19, kChangesAt = 24,
                 kPageCountAt = 28, kCountedAt = 92;
constexpr std::byte kRollbackJournal{1}, kWriteAheadLog{2};
/// A write-ahead log of this size is a header without anything written.
constexpr uint64_t kLogHeaderBytes = 32;

uint32_t big_endian(base::ByteSpan bytes, size_t at, size_t size) {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8U | std::to_integer<uint32_t>(bytes[at + i]);
  return value;
}

uint64_t page_bytes(base::ByteSpan header) {
  uint32_t const size = big_endian(header, kPageSizeAt, 2);
  return size == 1 ? 65'536 : size;
}

/// A journal whose first byte is zero, or that is empty, is one of a transaction that is over.
bool is_hot_journal(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  return file.get(first) && first != 0;
}

base::Expected<void> check_nobody_writes(std::string const& name) {
  std::error_code error;
  std::string const log = name + "-wal", journal = name + "-journal";
  uint64_t const log_bytes = std::filesystem::file_size(log, error);
  bool const has_log = !error && log_bytes > kLogHeaderBytes;
  if (!has_log && !is_hot_journal(journal)) return {};
  return fail(
      "{}: another program is writing this database, or was stopped while it did ({} is there); "
      "wait until it is done, or export again",
      name, has_log ? log : journal);
}

std::unique_ptr<std::byte[]> allocate(size_t size) {
  return std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[size]);
}

}  // namespace

bool is_sqlite(std::string_view head) {
  return head.size() >= kHeaderBytes && head.starts_with(kMagic);
}

base::Expected<DatabaseImage> DatabaseImage::open(Input const& input) {
  if (!is_sqlite(input.head()))
    return fail("{}: is no SQLite database, name an export of Nsight Systems or a rocpd database",
                input.name());

  DatabaseImage image;
  if (auto const all = input.plain()) {
    if (auto const free = check_nobody_writes(input.name()); !free) return base::fail_with(free);
    image.bytes_ = std::as_bytes(std::span(*all));
  } else if (auto const unpacked = image.unpack(input); !unpacked) {
    return base::fail_with(unpacked);
  }

  if (auto const repaired = image.repair_header(input.name()); !repaired)
    return base::fail_with(repaired);
  return image;
}

base::Expected<void> DatabaseImage::unpack(Input const& input) {
  constexpr size_t kFirstBytes = size_t{1} << 20U;
  auto const stream = input.stream();
  size_t capacity = kFirstBytes, size = 0;
  own_ = allocate(capacity);

  while (own_ != nullptr) {
    size_t const got = stream->read({reinterpret_cast<char*>(own_.get()) + size, capacity - size});
    size += got;
    if (size < capacity) break;
    auto larger = allocate(2 * capacity);
    if (larger != nullptr) std::memcpy(larger.get(), own_.get(), size);
    own_ = std::move(larger);
    capacity *= 2;
  }

  if (own_ == nullptr)
    return fail("{}: does not fit into memory unpacked ({} and more), unpack it by hand",
                input.name(), base::format_bytes(size));

  bytes_ = {own_.get(), size};
  damage_ = stream->damage();
  return {};
}

/// SQLite refuses what has fewer pages than its header says, and reads no database in write-ahead
/// mode from memory.
base::Expected<void> DatabaseImage::repair_header(std::string const& name) {
  uint64_t const page = page_bytes(bytes_);
  bool const is_page_size = page >= 512 && page <= 65'536 && (page & (page - 1)) == 0;
  uint64_t const pages = is_page_size ? bytes_.size() / page : 0;
  if (pages == 0)
    return fail("{}: is cut off or damaged at its begin, export or copy it again", name);

  // The count holds for the change at which it was written; older versions of SQLite do not write
  // it.
  bool const is_counted = big_endian(bytes_, kChangesAt, 4) == big_endian(bytes_, kCountedAt, 4);
  uint64_t const claimed = is_counted ? big_endian(bytes_, kPageCountAt, 4) : pages;
  bool const is_cut = claimed > pages;
  bool const has_log =
      bytes_[kWriteVersionAt] == kWriteAheadLog || bytes_[kReadVersionAt] == kWriteAheadLog;

  if (is_cut && !damage_)
    damage_ = fmt::format("the file is cut off: {} of {} are there",
                          base::format_bytes(bytes_.size()), base::format_bytes(claimed * page));
  if (!is_cut && !has_log) return {};

  if (own_ == nullptr) {
    own_ = allocate(bytes_.size());
    if (own_ == nullptr)
      return fail("{}: does not fit into memory, close other programs or use a larger machine",
                  name);
    std::memcpy(own_.get(), bytes_.data(), bytes_.size());
    bytes_ = {own_.get(), bytes_.size()};
  }

  own_[kWriteVersionAt] = own_[kReadVersionAt] = kRollbackJournal;
  uint64_t const count = std::min(claimed == 0 ? pages : claimed, pages);
  for (size_t i = 0; i < 4; ++i)
    own_[kPageCountAt + i] = static_cast<std::byte>(count >> (24 - 8 * i) & 0xFFU);

  return {};
}

}  // namespace stepscope::import
