// The parameters of a network in two flat arrays (weights, gradients), and the buckets in which
// gradients are exchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::workloads {

struct Parameter {
  size_t offset = 0, count = 0;  ///< floats in the flat arrays
  float deviation = 0;  ///< initial values: truncated normal with this deviation; 0 = all `initial`
  float initial = 0;
  float decay = 0;  ///< weight decay
  std::string update_name;
};

/// Add layers in the order in which the backward pass finishes their gradients: a bucket is then a
/// range of memory.
struct ParameterLayout {
  std::string model;  ///< what a checkpoint must fit
  std::vector<Parameter> parameters;
  size_t floats = 0;

  struct Layer {
    std::string_view name;
    int64_t outputs, inputs;
    double deviation;
    float bias;   ///< initial
    float decay;  ///< of the weights; biases have none
  };
  /// Adds the layer's weights and then its bias.
  void add(Layer const& layer);
  /// Adds one array, `rows` × `width`: an embedding.
  void add_table(std::string_view name, int64_t rows, int64_t width, double deviation, float decay);
  /// Adds a layer norm's scale, initially 1, and then its shift, initially 0: `width` floats each,
  /// without decay.
  void add_norm(std::string_view name, int64_t width);
};

/// Depends on the layout and the seed alone.
std::vector<float> initial_weights(ParameterLayout const& layout, uint64_t seed);

struct Bucket {
  size_t first = 0, last = 0;  ///< parameters
  size_t offset = 0, count = 0;
  std::string name;  ///< "bucket0", "generator.bucket0"
};
/// Some of a layout's parameters; `name` is empty where these are all.
struct ParameterRange {
  size_t first, last;
  std::string name;
};
/// A bucket ends with the parameter that brings it to `mebibytes` or above.
std::vector<Bucket> make_buckets(ParameterLayout const& layout, ParameterRange const& range,
                                 double mebibytes);
/// Of all parameters.
std::vector<Bucket> make_buckets(ParameterLayout const& layout, double mebibytes);

/// Floats of a bucket's part where it is cut into as many equal ones as there are members: the last
/// one may end behind the bucket.
inline size_t part_of(Bucket const& bucket, size_t members) {
  return (bucket.count + members - 1) / members;
}
/// The layout with enough room behind each of these buckets for the parts of all members. The
/// buckets are then the same but for their offsets.
ParameterLayout make_room(ParameterLayout const& layout, std::vector<Bucket> const& buckets,
                          size_t members);
/// Arrays as long as `from`, one behind the other, laid out as `to`, which has the same parameters.
std::vector<float> rearrange(std::vector<float> const& arrays, ParameterLayout const& from,
                             ParameterLayout const& to);

}  // namespace stepscope::workloads
