// Names of kernels, short enough for a line and still told apart.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::reports {

/// A kernel's name without the types of its arguments, which fill lines and tell nothing: "void
/// gemm<float, 4>(int, float*)" → "void gemm<float, 4>".
std::string_view without_arguments(std::string_view kernel);

/// The name in at most so many columns (at least 2; a character each), printable. What tells least
/// goes first, until it fits:
/// - the types of its arguments and `void`;
/// - all scopes: "at::native::vectorized<4, at::native::Add<float> >" → "vectorized<4, Add<float>
///   >";
/// - all template arguments but the functor ("vectorized<…AddFunctor…>");
/// - the middle of a name without a functor.
/// Any text is a name; bytes behind 4,096 are not looked at.
std::string kernel_label(std::string_view kernel, size_t most_columns);
/// Labels of a table's names, in their order. Where different names would have the same label, what
/// tells them apart follows, in the same columns: "sm90_xmma_gemm_…cublas [tilesize128x64x64]".
/// The time is linear in names and columns. Very narrow columns may leave labels alike.
std::vector<std::string> kernel_labels(std::span<std::string const> names, size_t most_columns);

}  // namespace stepscope::reports
