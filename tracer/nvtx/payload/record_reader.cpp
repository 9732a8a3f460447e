#include "tracer/nvtx/payload/record_reader.h"

#include <bit>
#include <cstring>

namespace stepscope::tracer {
namespace {

/// Hands out words, or none and ok = false.
class WordReader {
 public:
  explicit WordReader(std::span<uint64_t const> words) : words_(words) {}
  uint64_t next() {
    auto const one = take(1);
    return one.empty() ? 0 : one[0];
  }
  std::span<uint64_t const> take(size_t count) {
    if (count > words_.size()) {
      ok_ = false;
      words_ = {};
      return {};
    }
    auto const result = words_.first(count);
    words_ = words_.subspan(count);
    return result;
  }
  [[nodiscard]] bool empty() const { return words_.empty(); }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  std::span<uint64_t const> words_;
  bool ok_ = true;
};

void read_payloads(WordReader& words, std::vector<PayloadView>& payloads) {
  while (!words.empty()) {
    uint64_t const schema = words.next();
    uint64_t const sizes = words.next();
    auto const bytes = static_cast<uint32_t>(sizes);
    auto const data = words.take(words_for(bytes));
    if (!words.ok()) return;
    payloads.push_back(
        {schema, std::as_bytes(data).data(), bytes, static_cast<uint32_t>(sizes >> 32)});
  }
}

}  // namespace

int64_t integer_value(ValueType type, uint64_t value) {
  constexpr double kMaxExact = 9007199254740992.0;  // 2^53; also keeps the conversion defined
  auto const from_real = [](double real) {
    return real >= -kMaxExact && real <= kMaxExact ? static_cast<int64_t>(real) : int64_t{0};
  };
  switch (type) {
    case ValueType::kDouble:
      return from_real(std::bit_cast<double>(value));
    case ValueType::kFloat:
      return from_real(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(value))));
    case ValueType::kUint32:
      return static_cast<uint32_t>(value);
    case ValueType::kInt32:
      return static_cast<int32_t>(static_cast<uint32_t>(value));
    default:
      return static_cast<int64_t>(value);
  }
}

bool read_record(std::span<uint64_t const> words, Record& record) {
  constexpr size_t kFixedWords = 2;
  if (words.size() < kFixedWords) return false;
  RecordHeader header{};
  std::memcpy(&header, words.data(), sizeof header);
  record.type = static_cast<RecordType>(header.type);
  record.flags = header.flags;
  record.domain = header.domain < kMaxDomains ? header.domain : kMaxDomains - 1;
  record.ticks = static_cast<int64_t>(words[1]);
  WordReader rest(words.subspan(kFixedWords));
  record.range = (header.flags & kHasRangeId) != 0 ? rest.next() : 0;
  uint64_t const category = (header.flags & kHasCategory) != 0 ? rest.next() : 0;
  record.category = static_cast<uint32_t>(category);
  record.value_type = static_cast<ValueType>(category >> 32);
  record.value = (header.flags & kHasValue) != 0 ? rest.next() : 0;
  record.color = (header.flags & kHasColor) != 0 ? static_cast<uint32_t>(rest.next()) : 0;
  record.handle = (header.flags & kHasHandle) != 0 ? static_cast<uint32_t>(rest.next()) : 0;
  record.text = {};
  if ((header.flags & kHasText) != 0) {
    auto const text = rest.take(words_for(header.text_bytes));
    if (rest.ok()) record.text = {reinterpret_cast<char const*>(text.data()), header.text_bytes};
  }
  record.payloads.clear();
  if ((header.flags & kHasPayloads) != 0) read_payloads(rest, record.payloads);
  return rest.ok();
}

}  // namespace stepscope::tracer
