// The networks that `split` cuts: their layers one after the other, each with its shape, its cost
// and what it takes to make it on the stage that gets it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "workloads/backend/backend.h"
#include "workloads/training/parameters.h"

namespace stepscope::workloads {

/// A layer on its stage. Everything is enqueued on the compute stream.
class SplitLayer {
 public:
  virtual ~SplitLayer() = default;
  /// `slot`: which of the micro-batches that the stage holds at once.
  virtual void forward(size_t slot, float const* x, float* y) = 0;
  /// `dy` may be changed. `dx` null: no layer needs the gradient of `x`.
  virtual void backward(size_t slot, float const* x, float const* y, float* dy, float* dx) = 0;
};

/// What a layer works with; the parameters' pointers are null where it has none.
struct LayerMemory {
  Device* device = nullptr;
  int64_t samples = 0;  ///< of a micro-batch
  size_t slots = 0;
  float const *weights = nullptr, *bias = nullptr;
  float *d_weights = nullptr, *d_bias = nullptr;
};

struct LayerDescription {
  std::string name;
  int64_t inputs = 0, outputs = 0;  ///< floats of a sample
  double cost =
      0;  ///< floating-point operations of a sample, forward and backward, or what takes as long
  ParameterLayout::Layer parameters = {};  ///< outputs 0: it has none
  bool fully_connected = false, relu = false;
  /// Which outputs or inputs of the whole layer this is, where it is cut over devices
  /// (tensor.h).
  enum class Cut : uint8_t { kNone, kOutputs, kInputs };
  struct Part {
    int64_t first_output = 0, first_input = 0;
    int64_t whole_inputs = 0;  ///< 0: as many as it has
    Cut cut = Cut::kNone;
  } part = {};
  /// Errors: out of memory, no implementation of the shape.
  std::function<Expected<std::unique_ptr<SplitLayer>>(LayerMemory const&)> make;
};
struct LayeredNetwork {
  std::string name;
  std::vector<LayerDescription> layers;  ///< the last one's outputs are the logits of the classes
  float learning_rate = 0;
  bool input_gradient = false;  ///< compute it, though no layer needs it
};

/// `layers` hidden layers of `width` ReLUs, and the classes. Made to be cut evenly: the first layer
/// too computes the gradient of its input. With as many inputs as `width` all layers are equal, but
/// for the small last one.
struct MlpShape {
  int64_t layers = 16, width = 864;
};
LayeredNetwork describe_mlp(int64_t inputs, int64_t classes, MlpShape const& shape);

/// The network of the cifar10 workload (cifar10.cpp), layer by layer.
struct CnnShape {
  int64_t conv = 64, fc1 = 384, fc2 = 192;
};
LayeredNetwork describe_cnn(int64_t side, int64_t channels, int64_t classes, CnnShape const& shape);

}  // namespace stepscope::workloads
