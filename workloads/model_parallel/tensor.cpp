// The two halves of a pair of layers, and which layers make pairs; see tensor.h. Collectives
// give means: what is summed is multiplied by the members again.
#include "workloads/model_parallel/tensor.h"

#include <string>
#include <utility>

namespace stepscope::workloads {
namespace {

/// All-reduces on the communication stream what the compute stream has, under the names of one
/// layer.
class AllReduce {
 public:
  AllReduce(Device& device, Communicator& communicator, std::string name, int64_t floats)
      : device_(device),
        communicator_(communicator),
        name_(std::move(name)),
        count_(static_cast<size_t>(floats)) {}

  void begin(float* data) {
    device_.wait(StreamKind::kCommunication, device_.record(StreamKind::kCompute));
    device_.collective(name_.c_str(), communicator_,
                       {CollectiveOp::kAllReduce, data, data, count_});
  }
  /// Later work of the compute stream sees the mean.
  void end() { device_.wait(StreamKind::kCompute, device_.record(StreamKind::kCommunication)); }

 private:
  Device& device_;
  Communicator& communicator_;
  std::string name_;
  size_t count_;
};

/// Some of a fully connected layer's outputs, of all its inputs.
class ColumnLayer final : public SplitLayer {
 public:
  ColumnLayer(LayerMemory const& memory, LayerDescription const& part, Communicator& communicator,
              int64_t members, std::unique_ptr<Dense> dense)
      : m_(memory),
        relu_(part.relu),
        relu_name_(part.name + ".backward.relu"),
        sum_name_(part.name + ".backward.sum"),
        members_(static_cast<float>(members)),
        outputs_(static_cast<size_t>(memory.samples * part.outputs)),
        inputs_(static_cast<size_t>(memory.samples * part.inputs)),
        dense_(std::move(dense)),
        all_reduce_(*memory.device, communicator, "allreduce." + part.name + ".backward",
                    memory.samples * part.inputs) {}

  void forward(size_t /*slot*/, float const* x, float* y) override {
    dense_->forward(x, m_.weights, m_.bias, y);
  }
  void backward(size_t /*slot*/, float const* x, float const* y, float* dy, float* dx) override {
    if (relu_) m_.device->run(relu_name_.c_str(), elementwise::ReluBackward{y, dy}, outputs_);

    // The input's gradient first: its sum travels while the weights' gradient is computed.
    if (dx != nullptr) {
      dense_->backward_data(dy, m_.weights, dx);
      all_reduce_.begin(dx);
    }

    dense_->backward_weights(x, dy, m_.d_weights, m_.d_bias);
    if (dx != nullptr) {
      all_reduce_.end();
      m_.device->run(sum_name_.c_str(), elementwise::Scale{dx, members_}, inputs_);
    }
  }

 private:
  LayerMemory m_;
  bool relu_;
  std::string relu_name_, sum_name_;
  float members_;
  size_t outputs_, inputs_;
  std::unique_ptr<Dense> dense_;
  AllReduce all_reduce_;
};

/// All of a fully connected layer's outputs, of some of its inputs. The bias is added to the sum,
/// on every device.
class RowLayer final : public SplitLayer {
 public:
  RowLayer(LayerMemory const& memory, LayerDescription const& part, Communicator& communicator,
           int64_t members, std::unique_ptr<Dense> dense, Buffer zeros)
      : m_(memory),
        relu_(part.relu),
        relu_name_(part.name + ".backward.relu"),
        bias_name_(part.name + ".forward.bias"),
        members_(static_cast<float>(members)),
        outputs_(part.outputs),
        dense_(std::move(dense)),
        zeros_(std::move(zeros)),
        all_reduce_(*memory.device, communicator, "allreduce." + part.name + ".forward",
                    memory.samples * part.outputs) {
    memory.device->run("bias.zero", elementwise::Fill{zeros_.floats(), 0.0F},
                       static_cast<size_t>(outputs_));
  }

  void forward(size_t /*slot*/, float const* x, float* y) override {
    dense_->forward(x, m_.weights, zeros_.floats(), y);
    all_reduce_.begin(y);
    all_reduce_.end();
    m_.device->run_rows(bias_name_.c_str(), rowwise::AddBias{outputs_, m_.bias, y, members_, relu_},
                        m_.samples);
  }
  void backward(size_t /*slot*/, float const* x, float const* y, float* dy, float* dx) override {
    if (relu_) {
      m_.device->run(relu_name_.c_str(), elementwise::ReluBackward{y, dy},
                     static_cast<size_t>(m_.samples * outputs_));
    }
    dense_->backward_weights(x, dy, m_.d_weights, m_.d_bias);
    if (dx != nullptr) dense_->backward_data(dy, m_.weights, dx);
  }

 private:
  LayerMemory m_;
  bool relu_;
  std::string relu_name_, bias_name_;
  float members_;
  int64_t outputs_;
  std::unique_ptr<Dense> dense_;
  Buffer zeros_;
  AllReduce all_reduce_;
};

void cut_by_outputs(LayerDescription& layer, Communicator& communicator, int64_t members,
                    int64_t rank) {
  layer.outputs /= members;
  layer.parameters.outputs = layer.outputs;
  layer.part = {rank * layer.outputs, 0, layer.inputs, LayerDescription::Cut::kOutputs};

  layer.make = [part = layer, &communicator,
                members](LayerMemory const& m) -> Expected<std::unique_ptr<SplitLayer>> {
    auto dense = m.device->dense(part.name, {m.samples, part.inputs, part.outputs, part.relu});
    if (!dense) return base::fail_with(dense);
    return std::make_unique<ColumnLayer>(m, part, communicator, members, std::move(*dense));
  };
}

void cut_by_inputs(LayerDescription& layer, Communicator& communicator, int64_t members,
                   int64_t rank) {
  int64_t const whole_inputs = layer.inputs;
  layer.inputs /= members;
  layer.parameters.inputs = layer.inputs;
  layer.part = {0, rank * layer.inputs, whole_inputs, LayerDescription::Cut::kInputs};

  layer.make = [part = layer, &communicator,
                members](LayerMemory const& m) -> Expected<std::unique_ptr<SplitLayer>> {
    auto dense = m.device->dense(part.name, {m.samples, part.inputs, part.outputs, false});
    if (!dense) return base::fail_with(dense);

    auto zeros = m.device->allocate(static_cast<size_t>(part.outputs) * sizeof(float),
                                    MemoryPurpose::kOther, part.name + ".zeros");
    if (!zeros) return base::fail_with(zeros);
    return std::make_unique<RowLayer>(m, part, communicator, members, std::move(*dense),
                                      std::move(*zeros));
  };
}

}  // namespace

base::Expected<LayeredNetwork> tensor_part(LayeredNetwork const& network,
                                           Communicator& communicator, int64_t members,
                                           int64_t rank) {
  LayeredNetwork part = network;
  if (members == 1) return part;

  for (size_t i = 0; i + 1 < part.layers.size(); ++i) {
    LayerDescription& first = part.layers[i];
    LayerDescription& second = part.layers[i + 1];
    if (!first.fully_connected || !second.fully_connected) continue;

    if (first.outputs % members != 0) {
      return base::fail(
          "{}: {} outputs cannot be divided among {} devices, use a number of devices that divides "
          "them",
          first.name, first.outputs, members);
    }

    cut_by_outputs(first, communicator, members, rank);
    cut_by_inputs(second, communicator, members, rank);
    ++i;
  }

  return part;
}

}  // namespace stepscope::workloads
