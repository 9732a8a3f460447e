// How a stage is made: memory, layers, weights; see stage.h.
#include "workloads/model_parallel/stage.h"

#include <algorithm>

namespace stepscope::workloads {
namespace {

class Allocator {
 public:
  explicit Allocator(Device& device) : device_(device) {}
  Buffer floats(size_t count, MemoryPurpose purpose, std::string const& owner) {
    if (error_) return {};
    auto made = device_.allocate(count * sizeof(float), purpose, owner);
    if (made) return std::move(*made);
    error_ = made.error();
    return {};
  }
  [[nodiscard]] base::Expected<void> result() const {
    if (error_) return tl::unexpected(*error_);
    return {};
  }

 private:
  Device& device_;
  std::optional<base::Error> error_;
};

void make_activations(Stage& s, StagePlan const& plan, Allocator& memory) {
  constexpr auto kPurpose = MemoryPurpose::kActivations;
  auto const samples = static_cast<size_t>(plan.samples);
  size_t const layers = s.descriptions.size();

  // Value `i`, or its gradient.
  auto const make = [&](size_t i, std::string const& part) {
    if (i == 0 && s.index == 0 && (part.empty() || !plan.network.input_gradient)) return Buffer();
    LayerDescription const& layer = s.descriptions[std::min(i, layers - 1)];
    int64_t const floats = i == layers ? layer.outputs : layer.inputs;
    return memory.floats(samples * static_cast<size_t>(floats), kPurpose,
                         layer.name + (i == layers ? ".output" : ".input") + part);
  };

  auto const slots =
      held_micro_batches(plan.schedule, s.index, plan.stages, plan.options.micro_batches);
  s.slots.resize(static_cast<size_t>(slots));

  for (Slot& slot : s.slots) {
    for (size_t i = 0; i <= layers; ++i) slot.values.push_back(make(i, ""));
  }

  for (size_t i = 0; i <= layers; ++i) s.d_values.push_back(make(i, ".gradient"));
}

base::Expected<void> make_memory(Stage& s, StagePlan const& plan) {
  Allocator memory(*s.device);
  s.weights = memory.floats(s.layout.floats, MemoryPurpose::kWeights, "weights");
  s.gradients = memory.floats(s.layout.floats, MemoryPurpose::kGradients, "gradients");
  if (plan.options.micro_batches > 1) {
    s.accumulated =
        memory.floats(s.layout.floats, MemoryPurpose::kGradients, "gradients.accumulated");
  }

  auto const batch = static_cast<size_t>(plan.options.batch);
  auto const inputs = static_cast<size_t>(s.descriptions.front().inputs);
  if (s.index == 0) s.images = memory.floats(batch * inputs, MemoryPurpose::kInput, "images");

  if (plan.is_last(s.index)) {
    s.labels = memory.floats(batch, MemoryPurpose::kInput, "labels");
    s.row_results =
        memory.floats(static_cast<size_t>(plan.samples) * 2, MemoryPurpose::kActivations, "loss");
    s.results = memory.floats(static_cast<size_t>(plan.options.micro_batches) * 2,
                              MemoryPurpose::kOther, "loss");
  }

  make_activations(s, plan, memory);
  return memory.result();
}

base::Expected<void> make_layers(Stage& s, StagePlan const& plan) {
  size_t parameter = s.layout.parameters.size();  // the layout begins with the last layer
  for (LayerDescription const& description : s.descriptions) {
    LayerMemory memory = {s.device, plan.samples, s.slots.size()};

    if (description.parameters.outputs > 0) {
      parameter -= 2;
      size_t const weights = s.layout.parameters[parameter].offset;
      size_t const bias = s.layout.parameters[parameter + 1].offset;
      memory.weights = s.weights.floats() + weights;
      memory.bias = s.weights.floats() + bias;
      memory.d_weights = s.gradients.floats() + weights;
      memory.d_bias = s.gradients.floats() + bias;
    }

    auto layer = description.make(memory);
    if (!layer) return base::fail_with(layer);
    s.layers.push_back(std::move(*layer));
  }
  return {};
}

/// Parts of the parameters of `layers`, in the order of their layout. `before`: parameters of the
/// layers behind them.
std::vector<ParameterPart> parts_of(std::vector<LayerDescription> const& layers, size_t before) {
  std::vector<ParameterPart> parts;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    auto const& p = layer->parameters;
    if (p.outputs == 0) continue;

    int64_t const whole_inputs = layer->part.whole_inputs > 0 ? layer->part.whole_inputs : p.inputs;
    parts.push_back({before + parts.size(), p.outputs, p.inputs, layer->part.first_output,
                     layer->part.first_input, whole_inputs});
    parts.push_back({before + parts.size(), p.outputs, 1, layer->part.first_output, 0, 1});
  }

  return parts;
}

}  // namespace

ParameterLayout lay_out(std::vector<LayerDescription> const& layers, std::string const& model) {
  ParameterLayout layout;
  layout.model = model;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    if (layer->parameters.outputs == 0) continue;
    ParameterLayout::Layer parameters = layer->parameters;
    parameters.name = layer->name;
    layout.add(parameters);
  }
  return layout;
}

base::Expected<std::unique_ptr<Stage>> make_stage(StagePlan const& plan, Device& device,
                                                  std::span<size_t const> cut, int64_t index) {
  auto s = std::make_unique<Stage>();
  s->device = &device;
  s->index = index;

  auto const first = plan.network.layers.begin();
  auto const bound = [&](int64_t i) {
    return first + static_cast<ptrdiff_t>(cut[static_cast<size_t>(i)]);
  };

  s->descriptions.assign(bound(index), bound(index + 1));
  s->layout = lay_out(s->descriptions, plan.network.name);
  s->parts = parts_of(s->descriptions,
                      lay_out({bound(index + 1), plan.network.layers.end()}, "").parameters.size());

  constexpr double kOneBucket = 1e9;  // MiB: nothing is sent, one sum is enough
  s->buckets = make_buckets(s->layout, kOneBucket);

  if (auto made = make_memory(*s, plan); !made) return base::fail_with(made);
  if (auto made = make_layers(*s, plan); !made) return base::fail_with(made);

  s->gradients_sum.emplace(device, nullptr, s->buckets, s->gradients.floats(),
                           s->accumulated.floats(),
                           GradientReducer::Settings{false, plan.options.micro_batches});
  return s;
}

void copy_weights(Stage& s, ParameterLayout const& whole, std::vector<float>& weights,
                  CopyDirection direction) {
  bool const down = direction == CopyDirection::kDeviceToHost;
  std::vector<float> packed;

  for (size_t i = 0; i < s.parts.size(); ++i) {
    ParameterPart const& part = s.parts[i];
    Parameter const& own = s.layout.parameters[i];
    float* const on_device = s.weights.floats() + own.offset;
    float* const on_host = weights.data() + whole.parameters[part.whole_id].offset;

    auto const for_each_row = [&](auto const& copy_row) {
      for (int64_t row = 0; row < part.rows; ++row) {
        copy_row(packed.data() + row * part.columns,
                 on_host + (part.first_row + row) * part.whole_columns + part.first_column);
      }
    };

    packed.resize(own.count);
    if (!down)
      for_each_row([&](float* to, float const* from) { std::copy_n(from, part.columns, to); });

    s.device->copy(StreamKind::kCopy, down ? "d2h.weights" : "h2d.weights",
                   down ? packed.data() : on_device, down ? on_device : packed.data(),
                   own.count * sizeof(float), direction);
    s.device->synchronize(s.device->record(StreamKind::kCopy));

    if (down)
      for_each_row([&](float const* from, float* to) { std::copy_n(from, part.columns, to); });
  }
}

}  // namespace stepscope::workloads
