#include "trace/import/formats/flight_recorder/json_data.h"

#include <charconv>
#include <vector>

#include "trace/import/common/json/cursor.h"

namespace stepscope::import {
namespace {

/// Deeper values are skipped; a dump needs five levels.
constexpr int kMostJsonDepth = 64;

class JsonData {
 public:
  JsonData(std::string_view text, PlainData& data) : cursor_(text), data_(data) {}

  base::Expected<ReadData> run() {
    PlainValue const root = value(0);
    if (too_much_) return base::fail("{}", data_.too_many_values());
    ReadData read{root, std::nullopt};
    if (cursor_.failure() == JsonCursor::Failure::kEnd)
      read.damage = fmt::format("ends in the middle, at byte {}", cursor_.offset());
    if (cursor_.failure() == JsonCursor::Failure::kBroken)
      read.damage = fmt::format("is no JSON from byte {} on", cursor_.offset());
    return read;
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as kMostJsonDepth
  PlainValue value(int depth) {
    char const next = cursor_.peek();
    if (next == '{' || next == '[') {
      if (depth < kMostJsonDepth)
        return container(next == '{' ? PlainType::kDict : PlainType::kList, depth);
      cursor_.value();
      return {};
    }

    bool is_string = false;
    std::string_view const word = cursor_.scalar(is_string);
    if (cursor_.failed() || word == "null") return {};

    if (is_string) return PlainData::text(word, PlainType::kJsonText);
    if (word == "true" || word == "false") return PlainData::boolean(word == "true");
    return number(word);
  }
  static PlainValue number(std::string_view word) {
    int64_t integer = 0;
    auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), integer);
    if (error == std::errc() && end == word.data() + word.size())
      return PlainData::integer(integer);

    double real = 0;
    auto const [real_end, real_error] =
        std::from_chars(word.data(), word.data() + word.size(), real);
    if (real_error == std::errc() && real_end == word.data() + word.size())
      return PlainData::real(real);

    PlainValue huge;
    huge.type = PlainType::kHuge;
    return huge;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as kMostJsonDepth
  PlainValue container(PlainType type, int depth) {
    PlainValue const made = data_.container(type);
    size_t const first = stack_.size();
    char const closing = type == PlainType::kDict ? '}' : ']';
    cursor_.take(type == PlainType::kDict ? '{' : '[');

    if (!cursor_.take(closing)) {
      while (!too_much_) {
        if (type == PlainType::kDict) {
          std::string_view const key = cursor_.string();
          if (cursor_.failed() || !cursor_.expect(':')) break;
          stack_.push_back(PlainData::text(key, PlainType::kJsonText));
        }
        PlainValue const item = value(depth + 1);
        // A container that was cut holds what came before.
        bool const is_there =
            !cursor_.failed() || item.type == PlainType::kDict || item.type == PlainType::kList;
        if (is_there) stack_.push_back(item);
        too_much_ = too_much_ || data_.is_too_much_with(stack_.size());
        if (cursor_.failed() || cursor_.take(closing) || !cursor_.expect(',')) break;
      }
    }

    size_t const count = stack_.size() - first;
    size_t const whole = type == PlainType::kDict ? count - count % 2 : count;
    too_much_ = too_much_ || !data_.append(made, std::span(stack_).subspan(first, whole));

    stack_.resize(first);
    return made;
  }

  JsonCursor cursor_;
  PlainData& data_;
  std::vector<PlainValue> stack_;
  bool too_much_ = false;
};

}  // namespace

base::Expected<ReadData> read_json_data(std::string_view text, PlainData& data) {
  return JsonData(text, data).run();
}

}  // namespace stepscope::import
