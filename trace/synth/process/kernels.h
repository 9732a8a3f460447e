// The kernels that made runs consist of, by layer type, named as a profiler of real training shows
// them. Durations are those of an A100-class device, rounded.
#pragma once

#include <span>

#include "trace/synth/process/program.h"

namespace stepscope::synth {

std::span<KernelSpec const> convolution_forward();
std::span<KernelSpec const> convolution_backward();
/// The same network in bfloat16 on a device of the H100 class: every matrix product on tensor
/// cores.
std::span<KernelSpec const> mixed_convolution_forward();
std::span<KernelSpec const> mixed_convolution_backward();
std::span<KernelSpec const> attention_forward();
std::span<KernelSpec const> attention_backward();
std::span<KernelSpec const> mlp_forward();
std::span<KernelSpec const> mlp_backward();
/// Choosing experts and sorting tokens by them.
std::span<KernelSpec const> router_forward();
std::span<KernelSpec const> router_backward();
std::span<KernelSpec const> experts_forward();
std::span<KernelSpec const> experts_backward();
std::span<KernelSpec const> loss_kernels();
std::span<KernelSpec const> gradient_norm();
std::span<KernelSpec const> optimizer();

}  // namespace stepscope::synth
