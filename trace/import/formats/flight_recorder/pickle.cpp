// After the documentation of Python's pickletools: a machine with a stack, marks on it, and a memo.
#include "trace/import/formats/flight_recorder/pickle.h"

#include <array>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace stepscope::import {
namespace {

enum class PickleOpcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBytes = 'B',
  kShortBytes = 'C',
  kFloat = 'G',
  kInt32 = 'J',
  kInt8 = 'K',
  kInt16 = 'M',
  kNone = 'N',
  kString = 'T',
  kShortString = 'U',
  kUnicode = 'X',
  kAppend = 'a',
  kDict = 'd',
  kAppends = 'e',
  kGet = 'h',
  kLongGet = 'j',
  kList = 'l',
  kPut = 'q',
  kLongPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kProtocol = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTrue = 0x88,
  kFalse = 0x89,
  kLong1 = 0x8A,
  kLong4 = 0x8B,
  kShortUnicode = 0x8C,
  kUnicode8 = 0x8D,
  kBytes8 = 0x8E,
  kEmptySet = 0x8F,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kMemoize = 0x94,
  kFrame = 0x95,
};

/// Opcodes that find or call something of the program that opens the pickle: "c" (a name), "R" (a
/// call), …
constexpr std::string_view kRunsCode = "ciRboPQ\x81\x82\x83\x84\x92\x93\x97\x98";

constexpr uint8_t kFirstProtocol = 2, kLastProtocol = 5;
/// Data that people write are not nested deeper.
constexpr size_t kMostMarks = 1000;

enum class PickleStep : uint8_t {
  kGoOn,
  kStopped,
  kCut,     ///< the bytes end in the middle
  kBroken,  ///< what stands there makes no sense
  kTooMuch,
  kCode
};

class Unpickler {
 public:
  Unpickler(std::string_view bytes, PlainData& data) : bytes_(bytes), data_(data) {}

  base::Expected<ReadData> run() {
    PickleStep step = PickleStep::kGoOn;
    size_t at = 0;
    while (step == PickleStep::kGoOn) {
      at = at_;
      step = next();
    }

    switch (step) {
      case PickleStep::kCode:
        return base::fail(
            "would run code when Python opens it (near byte {}): only data are read, ask its "
            "author what it is",
            at);
      case PickleStep::kTooMuch:
        return base::fail("{}", data_.too_many_values());
      case PickleStep::kStopped:
        return ReadData{stack_.back(), std::nullopt};
      default:
        break;
    }

    close_all();
    if (stack_.empty()) return base::fail("is no pickle that can be read (byte {})", at);
    return ReadData{stack_.front(),
                    step == PickleStep::kCut
                        ? fmt::format("ends in the middle, at byte {}", bytes_.size())
                        : fmt::format("is damaged near byte {}", at)};
  }

 private:
  PickleStep next() {
    uint8_t code = 0;
    if (!take(code)) return PickleStep::kCut;
    if (kRunsCode.find(static_cast<char>(code)) != std::string_view::npos) return PickleStep::kCode;

    switch (static_cast<PickleOpcode>(code)) {
      case PickleOpcode::kProtocol: {
        uint8_t protocol = 0;
        if (!take(protocol)) return PickleStep::kCut;
        return protocol <= kLastProtocol ? PickleStep::kGoOn : PickleStep::kBroken;
      }
      case PickleOpcode::kFrame: {
        uint64_t size = 0;
        return take(size) ? PickleStep::kGoOn : PickleStep::kCut;
      }
      case PickleOpcode::kStop:
        return stack_.empty() ? PickleStep::kBroken : PickleStep::kStopped;
      case PickleOpcode::kMark:
        marks_.push_back(stack_.size());
        return marks_.size() <= kMostMarks ? PickleStep::kGoOn : PickleStep::kBroken;
      case PickleOpcode::kPop:
        return pop(1) ? PickleStep::kGoOn : PickleStep::kBroken;
      case PickleOpcode::kDup:
        return stack_.size() > bottom() ? push(stack_.back()) : PickleStep::kBroken;
      case PickleOpcode::kPopMark:
        if (marks_.empty()) return PickleStep::kBroken;
        stack_.resize(marks_.back());
        marks_.pop_back();
        return PickleStep::kGoOn;
      default:
        break;
    }
    return scalar(static_cast<PickleOpcode>(code));
  }

  PickleStep scalar(PickleOpcode opcode) {
    switch (opcode) {
      case PickleOpcode::kNone:
        return push({});
      case PickleOpcode::kTrue:
      case PickleOpcode::kFalse:
        return push(PlainData::boolean(opcode == PickleOpcode::kTrue));
      case PickleOpcode::kInt8:
        return number<uint8_t>();
      case PickleOpcode::kInt16:
        return number<uint16_t>();
      case PickleOpcode::kInt32:
        return number<int32_t>();
      case PickleOpcode::kLong1:
        return long_number<uint8_t>();
      case PickleOpcode::kLong4:
        return long_number<uint32_t>();
      case PickleOpcode::kFloat: {
        uint64_t bits = 0;  // the only number that has its highest byte first
        return take(bits) ? push(PlainData::real(std::bit_cast<double>(__builtin_bswap64(bits))))
                          : PickleStep::kCut;
      }
      case PickleOpcode::kShortString:
      case PickleOpcode::kShortBytes:
      case PickleOpcode::kShortUnicode:
        return characters<uint8_t>();
      case PickleOpcode::kString:
      case PickleOpcode::kBytes:
      case PickleOpcode::kUnicode:
        return characters<uint32_t>();
      case PickleOpcode::kBytes8:
      case PickleOpcode::kUnicode8:
        return characters<uint64_t>();
      default:
        return container(opcode);
    }
  }

  PickleStep container(PickleOpcode opcode) {
    switch (opcode) {
      case PickleOpcode::kEmptyList:
      case PickleOpcode::kEmptySet:
      case PickleOpcode::kEmptyTuple:
        return push(data_.container(PlainType::kList));
      case PickleOpcode::kEmptyDict:
        return push(data_.container(PlainType::kDict));

      case PickleOpcode::kTuple1:
        return collect(PlainType::kList, 1);
      case PickleOpcode::kTuple2:
        return collect(PlainType::kList, 2);
      case PickleOpcode::kTuple3:
        return collect(PlainType::kList, 3);

      case PickleOpcode::kTuple:
      case PickleOpcode::kList:
      case PickleOpcode::kFrozenSet:
      case PickleOpcode::kDict: {
        if (marks_.empty()) return PickleStep::kBroken;
        size_t const count = stack_.size() - marks_.back();
        marks_.pop_back();
        return collect(opcode == PickleOpcode::kDict ? PlainType::kDict : PlainType::kList, count);
      }

      case PickleOpcode::kAppend:
        return add(PlainType::kList, 1);
      case PickleOpcode::kSetItem:
        return add(PlainType::kDict, 2);
      case PickleOpcode::kAppends:
      case PickleOpcode::kAddItems:
      case PickleOpcode::kSetItems: {
        if (marks_.empty()) return PickleStep::kBroken;
        size_t const count = stack_.size() - marks_.back();
        marks_.pop_back();
        return add(opcode == PickleOpcode::kSetItems ? PlainType::kDict : PlainType::kList, count);
      }

      default:
        return memo(opcode);
    }
  }

  PickleStep memo(PickleOpcode opcode) {
    switch (opcode) {
      case PickleOpcode::kPut:
        return remember<uint8_t>();
      case PickleOpcode::kLongPut:
        return remember<uint32_t>();
      case PickleOpcode::kMemoize:
        if (stack_.size() <= bottom()) return PickleStep::kBroken;
        memo_.push_back(stack_.back());
        return if_it_fits();
      case PickleOpcode::kGet:
        return recall<uint8_t>();
      case PickleOpcode::kLongGet:
        return recall<uint32_t>();
      default:
        return PickleStep::kBroken;
    }
  }

  template <class T>
  bool take(T& value) {
    if (bytes_.size() - at_ < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return true;
  }
  template <class T>
  PickleStep number() {
    T value{};
    return take(value) ? push(PlainData::integer(value)) : PickleStep::kCut;
  }
  /// Little-endian, in two's complement, of any length.
  template <class Length>
  PickleStep long_number() {
    Length length{};
    if (!take(length) || bytes_.size() - at_ < length) return PickleStep::kCut;
    std::string_view const raw = bytes_.substr(at_, length);
    at_ += length;

    if (length > sizeof(int64_t)) {
      PlainValue huge;
      huge.type = PlainType::kHuge;
      return push(huge);
    }

    bool const is_negative = !raw.empty() && static_cast<int8_t>(raw.back()) < 0;
    std::array<char, sizeof(int64_t)> whole{};
    whole.fill(is_negative ? '\xFF' : '\0');
    std::memcpy(whole.data(), raw.data(), raw.size());
    return push(PlainData::integer(std::bit_cast<int64_t>(whole)));
  }
  template <class Length>
  PickleStep characters() {
    Length length{};
    if (!take(length) || bytes_.size() - at_ < length) return PickleStep::kCut;
    PlainValue const value = PlainData::text(bytes_.substr(at_, static_cast<size_t>(length)));
    at_ += static_cast<size_t>(length);
    return push(value);
  }

  /// What lies below the last mark cannot be taken but with the mark.
  [[nodiscard]] size_t bottom() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleStep push(PlainValue const& value) {
    stack_.push_back(value);
    return if_it_fits();
  }
  [[nodiscard]] PickleStep if_it_fits() const {
    size_t const kept = stack_.size() + memo_.size() + sparse_memo_.size();
    return data_.is_too_much_with(kept) ? PickleStep::kTooMuch : PickleStep::kGoOn;
  }
  bool pop(size_t count) {
    if (stack_.size() - bottom() < count) return false;
    stack_.resize(stack_.size() - count);
    return true;
  }
  /// The last `count` values become a container.
  PickleStep collect(PlainType type, size_t count) {
    if (stack_.size() - bottom() < count || (type == PlainType::kDict && count % 2 != 0))
      return PickleStep::kBroken;
    PlainValue const made = data_.container(type);
    if (!data_.append(made, std::span(stack_).last(count))) return PickleStep::kTooMuch;
    stack_.resize(stack_.size() - count);
    return push(made);
  }
  /// The last `count` values go to the container below them.
  PickleStep add(PlainType type, size_t count) {
    if (stack_.size() - bottom() < count + 1) return PickleStep::kBroken;
    PlainValue const to = stack_[stack_.size() - count - 1];
    if (to.type != type || (type == PlainType::kDict && count % 2 != 0)) return PickleStep::kBroken;
    if (!data_.append(to, std::span(stack_).last(count))) return PickleStep::kTooMuch;
    stack_.resize(stack_.size() - count);
    return PickleStep::kGoOn;
  }

  /// Picklers count from 0 or 1; other numbers cost more to keep.
  template <class Number>
  PickleStep remember() {
    Number id{};
    if (!take(id)) return PickleStep::kCut;
    if (stack_.size() <= bottom()) return PickleStep::kBroken;

    if (id > memo_.size() + 1) {
      sparse_memo_[id] = stack_.back();
    } else {
      if (id >= memo_.size()) memo_.resize(size_t{id} + 1);
      memo_[id] = stack_.back();
    }

    return if_it_fits();
  }
  template <class Number>
  PickleStep recall() {
    Number id{};
    if (!take(id)) return PickleStep::kCut;
    if (auto const entry = sparse_memo_.find(id); entry != sparse_memo_.end())
      return push(entry->second);
    return id < memo_.size() ? push(memo_[id]) : PickleStep::kBroken;
  }

  /// Containers that were being filled when the bytes ended get what there is.
  void close_all() {
    for (; !marks_.empty(); marks_.pop_back()) {
      size_t const mark = marks_.back();
      size_t count = stack_.size() - mark;
      if (mark > 0) {
        PlainValue const to = stack_[mark - 1];
        if (to.type == PlainType::kDict) count -= count % 2;
        if (to.type == PlainType::kDict || to.type == PlainType::kList)
          data_.append(to, std::span(stack_).subspan(mark, count));
      }
      stack_.resize(mark);
    }

    // Outside of marks: a key and its value on the way into a dictionary.
    for (; stack_.size() > 1; stack_.pop_back()) {
      PlainValue const to = stack_[stack_.size() - 2];
      if (to.type == PlainType::kList) data_.append(to, std::span(stack_).last(1));
      if (stack_.size() > 2 && stack_[stack_.size() - 3].type == PlainType::kDict &&
          to.type == PlainType::kText) {
        data_.append(stack_[stack_.size() - 3], std::span(stack_).last(2));
        stack_.pop_back();
      }
    }
  }

  std::string_view bytes_;
  PlainData& data_;
  size_t at_ = 0;
  std::vector<PlainValue> stack_;
  std::vector<size_t> marks_;
  std::vector<PlainValue> memo_;
  std::unordered_map<uint32_t, PlainValue> sparse_memo_;
};

}  // namespace

bool is_pickle(std::string_view bytes) {
  if (bytes.size() < 3 ||
      static_cast<uint8_t>(bytes[0]) != static_cast<uint8_t>(PickleOpcode::kProtocol))
    return false;
  return bytes[1] >= kFirstProtocol && bytes[1] <= kLastProtocol;
}

base::Expected<ReadData> read_pickle(std::string_view bytes, PlainData& data) {
  return Unpickler(bytes, data).run();
}

}  // namespace stepscope::import
