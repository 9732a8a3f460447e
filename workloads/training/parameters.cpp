// Flat parameter arrays and gradient buckets; see parameters.h.
#include "workloads/training/parameters.h"

#include <algorithm>

#include <fmt/format.h>

#include "trace/base/check.h"
#include "workloads/data/random.h"

namespace stepscope::workloads {
namespace {

constexpr size_t kLine = 16;                   // floats: every parameter begins on a cache line
constexpr uint64_t kWeightStream = 0x77'6569;  // apart from the random numbers of the data

Parameter place(ParameterLayout& layout, std::string_view name, char const* part, int64_t count) {
  Parameter p;
  p.offset = layout.floats;
  p.count = static_cast<size_t>(count);
  p.update_name = fmt::format("{}.update.{}", name, part);
  layout.floats += (p.count + kLine - 1) / kLine * kLine;
  return p;
}

}  // namespace

void ParameterLayout::add(Layer const& layer) {
  Parameter weights = place(*this, layer.name, "weights", layer.outputs * layer.inputs);
  weights.deviation = static_cast<float>(layer.deviation);
  weights.decay = layer.decay;
  parameters.push_back(weights);
  Parameter bias = place(*this, layer.name, "bias", layer.outputs);
  bias.initial = layer.bias;
  parameters.push_back(bias);
}

void ParameterLayout::add_table(std::string_view name, int64_t rows, int64_t width,
                                double deviation, float decay) {
  Parameter table = place(*this, name, "weights", rows * width);
  table.deviation = static_cast<float>(deviation);
  table.decay = decay;
  parameters.push_back(table);
}

void ParameterLayout::add_norm(std::string_view name, int64_t width) {
  Parameter scale = place(*this, name, "scale", width);
  scale.initial = 1;
  parameters.push_back(scale);
  parameters.push_back(place(*this, name, "shift", width));
}

std::vector<float> initial_weights(ParameterLayout const& layout, uint64_t seed) {
  std::vector<float> weights(layout.floats);
  for (size_t id = 0; id < layout.parameters.size(); ++id) {
    Parameter const& p = layout.parameters[id];
    Random random = Random::of(seed, kWeightStream, id);
    for (size_t i = 0; i < p.count; ++i) {
      weights[p.offset + i] = p.deviation > 0 ? p.deviation * random.truncated_normal() : p.initial;
    }
  }
  return weights;
}

std::vector<Bucket> make_buckets(ParameterLayout const& layout, ParameterRange const& range,
                                 double mebibytes) {
  std::string const prefix = range.name.empty() ? "" : range.name + ".";
  constexpr double kMebibyte = 1 << 20;
  std::vector<Bucket> buckets;
  for (size_t id = range.first; id <= range.last; ++id) {
    Parameter const& p = layout.parameters[id];
    bool const full =
        !buckets.empty() &&
        static_cast<double>(buckets.back().count * sizeof(float)) >= mebibytes * kMebibyte;
    if (buckets.empty() || full)
      buckets.push_back({id, id, p.offset, 0, fmt::format("{}bucket{}", prefix, buckets.size())});
    buckets.back().last = id;
    buckets.back().count = p.offset + p.count - buckets.back().offset;
  }
  return buckets;
}

std::vector<Bucket> make_buckets(ParameterLayout const& layout, double mebibytes) {
  if (layout.parameters.empty()) return {};
  return make_buckets(layout, {0, layout.parameters.size() - 1, ""}, mebibytes);
}

ParameterLayout make_room(ParameterLayout const& layout, std::vector<Bucket> const& buckets,
                          size_t members) {
  ParameterLayout roomy = layout;
  size_t shift = 0;
  for (size_t id = 0; id < layout.parameters.size(); ++id) {
    roomy.parameters[id].offset += shift;
    auto const bucket =
        std::find_if(buckets.begin(), buckets.end(), [&](Bucket const& b) { return b.last == id; });
    if (bucket == buckets.end()) continue;
    bool const is_last = id + 1 == layout.parameters.size();
    size_t const end = is_last ? layout.floats : layout.parameters[id + 1].offset;
    size_t const needed =
        layout.parameters[bucket->first].offset + members * part_of(*bucket, members);
    if (needed > end) shift += (needed - end + kLine - 1) / kLine * kLine;
  }
  roomy.floats += shift;
  return roomy;
}

std::vector<float> rearrange(std::vector<float> const& arrays, ParameterLayout const& from,
                             ParameterLayout const& to) {
  STEPSCOPE_CHECK(from.parameters.size() == to.parameters.size());
  STEPSCOPE_CHECK(from.floats > 0 && arrays.size() % from.floats == 0);
  size_t const count = arrays.size() / from.floats;
  std::vector<float> result(count * to.floats);
  for (size_t array = 0; array < count; ++array) {
    for (size_t id = 0; id < from.parameters.size(); ++id) {
      Parameter const& p = from.parameters[id];
      STEPSCOPE_CHECK(p.count == to.parameters[id].count);
      std::copy_n(arrays.data() + array * from.floats + p.offset, p.count,
                  result.data() + array * to.floats + to.parameters[id].offset);
    }
  }
  return result;
}

}  // namespace stepscope::workloads
