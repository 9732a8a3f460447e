// The GPT workload: a small decoder-only transformer that predicts the next byte of a text, trained
// synchronously data-parallel with AdamW. See gpt.cpp.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "workloads/data/text_samples.h"
#include "workloads/options.h"
#include "workloads/training/data_parallel.h"
#include "workloads/training/training.h"

namespace stepscope::workloads {

constexpr char const* kGptDescription =
    "GPT: a small transformer that predicts the next byte of a text, data-parallel with AdamW (4 "
    "blocks of width 128, 4 heads)";

/// With these a step of 8 sequences takes some 30 ms on two cores.
struct GptShape {
  int64_t layers = 4, heads = 4, width = 128;  ///< width: a multiple of heads
  int64_t context = 64;                        ///< tokens of a sequence
  int64_t vocabulary = 0;                      ///< the text's

  [[nodiscard]] int64_t head_dim() const { return width / heads; }
};

struct GptOptions {
  GptShape shape;
  int64_t warmup_steps = 20;  ///< steps over which the learning rate rises to its peak
  int64_t decay_steps = 0;    ///< steps at whose end it has fallen to its tenth; 0 = --steps
};

/// AdamW with defaults that suit the network.
TrainOptions gpt_defaults();

/// Of the step, counted from 0: linear from 0 to the peak, then half a cosine down to its tenth,
/// then constant.
double gpt_learning_rate(TrainOptions const& options, GptOptions const& gpt, int64_t step);

/// In the order in which the backward pass finishes the gradients.
ParameterLayout gpt_parameters(GptShape const& shape);

/// A replica whose inputs and labels are int32[batch][context]. Errors: out of memory, no
/// implementation for the shape.
base::Expected<std::unique_ptr<Replica>> make_gpt_replica(ReplicaMemory const& memory,
                                                          GptShape const& shape);

/// `gpt.shape.vocabulary` is taken from the text. Errors: wrong options, a text that is too short,
/// unreadable checkpoint, out of memory.
base::Expected<TrainingResult> train_gpt(TrainOptions const& options, GptOptions const& gpt,
                                         TokenizedText const& text, std::FILE* log);

base::Expected<int> run_gpt(std::span<std::string const> arguments);

}  // namespace stepscope::workloads
