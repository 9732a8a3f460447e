#include "trace/import/formats/nsys/names.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/model/build/communication_names.h"

namespace stepscope::import::nsys {
namespace {

constexpr NameIndex kNoName = UINT32_MAX;
constexpr size_t kChunkBytes = size_t{1} << 20U;

bool is_plain(std::string_view text) {
  // Without a branch in it the loop takes 16 characters at a time.
  unsigned char odd = 0;
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    odd |= static_cast<unsigned char>(byte < 0x20 || byte >= 0x7F ? 1 : 0);
  }
  return odd == 0;
}

}  // namespace

std::string_view clean_name(std::string_view text, std::string& scratch, uint64_t& cut_names) {
  if (text.size() > kMostNameBytes) {
    ++cut_names;
    text = text.substr(0, kMostNameBytes);
  }
  if (is_plain(text)) return text;
  scratch = base::printable(text);
  return scratch;
}

NameIndex Names::add(std::string_view text) {
  std::string scratch;
  text = clean_name(text, scratch, cut);

  if (text.size() > chunk_left_) {
    chunk_left_ = std::max(kChunkBytes, text.size());
    chunks_.push_back(std::make_unique<char[]>(chunk_left_));
    chunk_at_ = chunks_.back().get();
  }

  if (!text.empty()) std::memcpy(chunk_at_, text.data(), text.size());
  texts_.emplace_back(chunk_at_, text.size());
  chunk_at_ += text.size();
  chunk_left_ -= text.size();

  return static_cast<NameIndex>(texts_.size() - 1);
}

void Names::read(Database& database) {
  TableScan scan(database, "StringIds", {"id", "value"});

  while (scan.next()) {
    int64_t const id = scan.integer(0);
    NameIndex const name = add(scan.text(1));

    // Ids count from 0 on; an export of a part of a report has those of the whole.
    constexpr uint64_t kSparse = 16, kFewIds = uint64_t{1} << 22U;
    bool const is_small = id >= 0 && static_cast<uint64_t>(id) < kFewIds + kSparse * texts_.size();
    if (!is_small) {
      by_large_id_.emplace(id, name);
      continue;
    }

    auto const place = static_cast<size_t>(id);
    if (place >= by_small_id_.size())
      by_small_id_.resize(std::max(place + 1, by_small_id_.size() * 2), kNoName);
    by_small_id_[place] = name;
  }
}

NameIndex Names::of(int64_t id) {
  if (id >= 0 && static_cast<uint64_t>(id) < by_small_id_.size()) [[likely]] {
    if (NameIndex const name = by_small_id_[static_cast<size_t>(id)]; name != kNoName) [[likely]]
      return name;
  }

  auto const [place, is_new] = by_large_id_.try_emplace(id, kNoName);
  if (is_new) {
    unknown += id == kNoId ? 0 : 1;
    place->second = add(id == kNoId ? std::string("unnamed") : fmt::format("name {}", id));
  }

  return place->second;
}

CallName const& Names::call_of(TableScan const& scan, int column) {
  int64_t id = scan.integer(column);
  if (id == 0 && scan.is_null(column)) id = kNoId;
  auto const [place, is_new] = calls_.try_emplace(id);
  if (!is_new) return place->second;

  CallName& call = place->second;
  std::string_view const function = text(of(id));
  std::string_view const plain = model::plain_name(function);
  call.name = plain.size() == function.size() ? of(id) : add(plain);
  call.api_class = model::classify(text(call.name));
  call.sync = model::sync_kind_of(text(call.name));

  return call;
}

bool Names::communicates(NameIndex name) {
  if (name >= communicates_.size()) communicates_.resize(texts_.size(), -1);
  int8_t& known = communicates_[name];
  if (known < 0) known = model::is_communication_kernel(texts_[name]) ? 1 : 0;
  return known == 1;
}

}  // namespace stepscope::import::nsys
