// What kernels do in a network, by their names: for rules about what a network computes and not how
// fast a kernel is.
#pragma once

#include <string_view>

namespace stepscope::analyzer {

/// Softmax as a kernel of its own, over attention scores or a router's choices. Not the logarithm
/// that a loss takes of it.
bool is_softmax(std::string_view kernel);

/// Attention in one kernel: FlashAttention, cuDNN's and xFormers' fused attention, and their likes.
bool is_fused_attention(std::string_view kernel);

/// A product of matrices: cuBLAS, CUTLASS, rocBLAS, Triton templates. Not a convolution.
bool is_matrix_product(std::string_view kernel);

/// A kernel on tensor cores that a library chose because rows begin at addresses of one or two
/// elements: CUTLASS ends its name with `align1` or `align2`. Kernels for plain cores always do so,
/// and say nothing.
bool is_misaligned_product(std::string_view kernel);

/// An operation on each element alone that a framework launches as a kernel. Not what a compiler or
/// an optimizer has fused.
bool is_elementwise(std::string_view kernel);

}  // namespace stepscope::analyzer
