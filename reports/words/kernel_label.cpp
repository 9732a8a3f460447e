#include "reports/words/kernel_label.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

bool is_of_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

size_t columns_of_name(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// "at::native::Add<c10::Half>" → "Add<Half>". What stands before "::" goes if it is an identifier
/// or "(anonymous namespace)"; template arguments and lambdas there stay, for they tell apart.
std::string without_scopes(std::string_view name) {
  constexpr std::array<std::string_view, 2> kUnnamed = {"(anonymous namespace)", "<unnamed>"};
  std::string text;
  for (size_t at = 0; at < name.size();) {
    if (name.substr(at, 2) != "::") {
      text += name[at++];
      continue;
    }

    std::string_view const written = text;
    std::string_view unnamed;
    for (std::string_view const each : kUnnamed)
      if (written.ends_with(each)) unnamed = each;
    if (!unnamed.empty()) {
      text.resize(text.size() - unnamed.size());
      at += 2;
      continue;
    }
    size_t first = text.size();
    while (first > 0 && is_of_identifier(text[first - 1])) --first;
    if (first == text.size() && first > 0)
      text += "::";
    else
      text.resize(first);
    at += 2;
  }
  return text;
}

/// Byte position of a column.
size_t byte_of_column(std::string_view text, size_t column) {
  size_t at = 0;
  for (; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80 && column-- == 0) break;
  return at;
}

/// Names of one library begin alike and often end alike: both ends are kept.
std::string without_middle(std::string const& text, size_t most_columns) {
  size_t const columns = columns_of_name(text);
  if (columns <= most_columns || most_columns < 2) return text;
  size_t const kept = most_columns - 1, tail = kept * 2 / 5;
  return text.substr(0, byte_of_column(text, kept - tail)) + "…" +
         text.substr(byte_of_column(text, columns - tail));
}

/// What a generic kernel applies, as the libraries of such kernels name it: "CUDAFunctor_add" of
/// "vectorized_elementwise_kernel<4, CUDAFunctor_add<Half>, Array<char*, 3> >". Empty without one.
std::string_view functor_of(std::string_view arguments) {
  auto const is_functor = [](std::string_view word) {
    auto const has = [&](char const* part) { return word.find(part) != word.npos; };
    bool const is_op = word.ends_with("Op") || word.ends_with("Ops");
    return has("unctor") || has("_kernel_cuda") || has("KernelImpl") || (is_op && !has("TensorOp"));
  };

  std::string_view found;
  for (size_t at = 0; at < arguments.size();) {
    size_t end = at;
    while (end < arguments.size() && is_of_identifier(arguments[end])) ++end;
    std::string_view const word = arguments.substr(at, end - at);
    if (is_functor(word)) found = word;  // the innermost: those around it are generic, too
    at = std::max(end, at + 1);
  }
  return found;
}

/// "vectorized_elementwise_kernel<…CUDAFunctor_add…>" in at most so many columns. Empty where the
/// name has no functor, or the columns do not suffice for both.
std::string with_functor(std::string const& label, size_t most_columns) {
  constexpr size_t kLeast = 4;  // columns of the name
  constexpr size_t kBrackets = 4;
  size_t const open = label.find('<');
  if (open == std::string::npos || open == 0) return {};
  std::string_view const functor = functor_of(std::string_view(label).substr(open));
  size_t const taken = columns_of_name(functor) + kBrackets;
  if (functor.empty() || most_columns < taken + kLeast) return {};

  return without_middle(label.substr(0, open), most_columns - taken) + "<…" + std::string(functor) +
         "…>";
}

constexpr size_t kMostNameBytes = 4096;  // names of megabytes exist

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_within_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// What is between the common begin and the common end of the texts: whole words between
/// underscores and signs.
std::vector<std::string> parts_that_differ(std::vector<std::string> const& texts) {
  std::string const& first = texts.front();
  size_t begin = first.size(), tail = first.size();
  for (std::string const& text : texts) {
    auto const ahead = std::mismatch(first.begin(), first.end(), text.begin(), text.end()).first;
    begin = std::min(begin, static_cast<size_t>(ahead - first.begin()));
    auto const back = std::mismatch(first.rbegin(), first.rend(), text.rbegin(), text.rend()).first;
    tail = std::min(tail, static_cast<size_t>(back - first.rbegin()));
  }

  while (begin > 0 && (is_letter_or_digit(first[begin - 1]) ||
                       (begin < first.size() && is_within_character(first[begin]))))
    --begin;
  while (tail > 0 && (is_letter_or_digit(first[first.size() - tail]) ||
                      is_within_character(first[first.size() - tail])))
    --tail;

  std::vector<std::string> parts;
  for (std::string const& text : texts)
    parts.push_back(text.substr(begin, text.size() - begin - std::min(tail, text.size() - begin)));
  return parts;
}

/// The texts in which the names of one label differ: as short as it does.
std::vector<std::string> distinct_texts(std::vector<std::string_view> const& names) {
  std::vector<std::string> texts;
  for (std::string_view const name : names)
    texts.push_back(
        without_scopes(base::printable(without_arguments(name.substr(0, kMostNameBytes)))));
  std::vector<std::string> sorted = texts;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) return texts;

  for (size_t i = 0; i < names.size(); ++i)
    texts[i] = base::printable(names[i].substr(0, kMostNameBytes));
  return texts;
}

/// "gemm_…cublas [tilesize128x64x64]" in at most so many columns.
std::string label_with(std::string_view name, std::string const& part, size_t most_columns) {
  constexpr size_t kSigns = 3;  // " [" and "]"
  if (part.empty() || most_columns < 24) return kernel_label(name, most_columns);
  // A functor says more than where its template arguments differ.
  bool const has_functor = kernel_label(name, most_columns).find("<…") != std::string::npos;
  size_t const room = has_functor ? most_columns / 5 : most_columns * 2 / 5;
  std::string const shown =
      columns_of_name(part) <= room ? part : part.substr(0, byte_of_column(part, room - 1)) + "…";
  return fmt::format("{} [{}]", kernel_label(name, most_columns - columns_of_name(shown) - kSigns),
                     shown);
}

using LabelGroups = std::map<std::string, std::vector<size_t>>;

/// Gives the names of a group the labels that tell them apart. Names that still look alike are a
/// smaller group, for at most so many rounds. Equal names keep what they have.
void tell_apart(std::span<std::string const> names, std::vector<size_t> const& group,
                size_t most_columns, int rounds, std::vector<std::string>& labels) {
  std::vector<std::string_view> of_group;
  for (size_t const i : group) of_group.emplace_back(names[i]);
  auto const parts = parts_that_differ(distinct_texts(of_group));
  bool const are_equal =
      std::all_of(parts.begin(), parts.end(), [](std::string const& part) { return part.empty(); });
  if (are_equal || rounds == 0) return;

  LabelGroups alike;
  for (size_t g = 0; g < group.size(); ++g) {
    labels[group[g]] = label_with(of_group[g], parts[g], most_columns);
    alike[labels[group[g]]].push_back(group[g]);
  }
  // A part that tells nothing apart takes room from the name.
  if (alike.size() == 1)
    for (size_t const i : group) labels[i] = kernel_label(names[i], most_columns);
  for (auto const& [label, smaller] : alike)
    if (smaller.size() > 1 && smaller.size() < group.size())
      tell_apart(names, smaller, most_columns, rounds - 1, labels);
}

}  // namespace

std::string_view without_arguments(std::string_view kernel) {
  if (!kernel.ends_with(')')) return kernel;
  size_t depth = 0;
  for (size_t at = kernel.size(); at > 1; --at) {
    if (kernel[at - 1] == ')') ++depth;
    if (kernel[at - 1] == '(' && --depth == 0) return kernel.substr(0, at - 1);
  }
  return kernel;
}

std::string kernel_label(std::string_view kernel, size_t most_columns) {
  most_columns = std::max<size_t>(most_columns, 2);
  constexpr std::string_view kVoid = "void ";
  if (kernel.size() <= most_columns) return base::printable(kernel);
  std::string_view name = without_arguments(kernel.substr(0, kMostNameBytes));
  if (name.starts_with(kVoid) && name.size() > kVoid.size()) name.remove_prefix(kVoid.size());

  std::string label = base::printable(name);
  if (columns_of_name(label) <= most_columns) return label;
  label = without_scopes(label);
  if (columns_of_name(label) <= most_columns) return label;
  std::string const functor = with_functor(label, most_columns);
  return functor.empty() ? without_middle(label, most_columns) : functor;
}

std::vector<std::string> kernel_labels(std::span<std::string const> names, size_t most_columns) {
  std::vector<std::string> labels;
  LabelGroups alike;
  for (size_t i = 0; i < names.size(); ++i) {
    labels.push_back(kernel_label(names[i], most_columns));
    alike[labels.back()].push_back(i);
  }

  constexpr int kMostRounds = 4;
  for (auto const& [label, group] : alike)
    if (group.size() > 1) tell_apart(names, group, most_columns, kMostRounds, labels);
  return labels;
}

}  // namespace stepscope::reports
