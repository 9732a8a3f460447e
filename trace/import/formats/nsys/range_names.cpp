#include "trace/import/formats/nsys/range_names.h"

#include <algorithm>
#include <array>

namespace stepscope::import::nsys {
namespace {

constexpr std::string_view kDigits = "0123456789", kLettersOfLists = "0123456789-,()[] ";

struct CallField {
  std::string_view label;
  bool is_list;
};
/// The last first.
constexpr std::array kCallFields = {CallField{", input_op_ids", true}, CallField{", sizes", true},
                                    CallField{", op_id", false}, CallField{", seq", false}};

bool is_value_of(CallField const& field, std::string_view text) {
  if (!field.is_list)
    return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
  return text.starts_with('[') && text.ends_with(']') &&
         text.find_first_not_of(kLettersOfLists) == std::string_view::npos;
}

}  // namespace

std::string_view without_call_numbers(std::string_view name) {
  constexpr std::string_view kEquals = " = ";
  auto next = kCallFields.begin();
  while (next != kCallFields.end()) {
    size_t const equals = name.rfind(kEquals);
    if (equals == std::string_view::npos) return name;
    std::string_view const before = name.substr(0, equals),
                           value = name.substr(equals + kEquals.size());

    auto const field = std::find_if(
        next, kCallFields.end(), [&](CallField const& one) { return before.ends_with(one.label); });
    if (field == kCallFields.end() || before.size() == field->label.size() ||
        !is_value_of(*field, value))
      return name;

    name = before.substr(0, before.size() - field->label.size());
    next = field + 1;
  }

  return name;
}

}  // namespace stepscope::import::nsys
