#include "analyzer/metrics/steps/layer_names.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace stepscope::analyzer {
namespace {

/// Last words before a number that make it a layer's: alone, or at the end of a class's name
/// ("LlamaDecoderLayer_0").
constexpr std::array<std::string_view, 6> kLayerWords = {"layers", "layer",  "blocks",
                                                         "block",  "stages", "stage"};
/// Words that are layers only as a part of a path: "transformer.h.3".
constexpr std::string_view kShortWord = "h";
/// Longer names say nothing more; longer numbers count something else.
constexpr size_t kMostRead = 512, kMostDigits = 6, kMostStem = 64, kMostLayers = 8;

bool is_decimal(char c) { return c >= '0' && c <= '9'; }
bool is_latin(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_in_path(char c) { return is_decimal(c) || is_latin(c) || c == '.' || c == '_'; }
char in_lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool ends_with_word(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.end() - static_cast<ptrdiff_t>(word.size()),
                    [](char a, char b) { return a == in_lower_case(b); });
}

/// Whether a number that stands behind the text is a layer's; `path_end`: where its path ends,
/// without what separates them.
bool is_layer(std::string_view before, size_t& path_end) {
  // "blocks.9", "Block_3", "Layer 12", "layer: 12", "layers[3", "layer12"
  path_end = before.find_last_not_of("._ :#[-");
  path_end = path_end == std::string_view::npos ? 0 : path_end + 1;
  constexpr size_t kMostSeparators = 2;
  if (before.size() - path_end > kMostSeparators) return false;
  std::string_view const path = before.substr(0, path_end);
  if (path.ends_with(kShortWord) && before.ends_with('.'))
    return path.size() == 1 || path[path.size() - 2] == '.' || !is_in_path(path[path.size() - 2]);
  return std::any_of(kLayerWords.begin(), kLayerWords.end(),
                     [&](std::string_view word) { return ends_with_word(path, word); });
}

int64_t parse(std::string_view digits) {
  int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

/// The path that ends in the layer, with N for its numbers.
LayerName layer_of(std::string_view path, std::string_view number) {
  LayerName layer;
  for (size_t i = 0; i < path.size();) {
    size_t end = i;
    while (end < path.size() && is_decimal(path[end])) ++end;
    if (end == i) {
      layer.stem += path[i++];
      continue;
    }

    layer.stem += 'N';
    layer.numbers.push_back(end - i <= kMostDigits ? parse(path.substr(i, end - i)) : 0);
    i = end;
  }

  layer.numbers.push_back(parse(number));
  if (layer.stem.size() > kMostStem) layer.stem.erase(0, layer.stem.size() - kMostStem);
  return layer;
}

}  // namespace

std::vector<LayerName> layer_names(std::string_view name) {
  name = name.substr(0, kMostRead);
  std::vector<LayerName> layers;
  for (size_t begin = 0; begin < name.size();) {
    if (!is_decimal(name[begin])) {
      ++begin;
      continue;
    }

    size_t end = begin;
    while (end < name.size() && is_decimal(name[end])) ++end;

    size_t path_end = 0;
    if (end - begin <= kMostDigits && layers.size() < kMostLayers &&
        is_layer(name.substr(0, begin), path_end)) {
      size_t path_begin = path_end;
      while (path_begin > 0 && is_in_path(name[path_begin - 1])) --path_begin;
      char const separator = path_end < begin && name[path_end] == '.' ? '.' : '_';
      layers.push_back(layer_of(name.substr(path_begin, path_end - path_begin),
                                name.substr(begin, end - begin)));
      layers.back().stem += separator;
      layers.back().stem += 'N';
    }

    begin = end;
  }
  return layers;
}

}  // namespace stepscope::analyzer
