// oneDNN 2 (Debian 12) and 3 (Debian 13) alike: descriptors of primitives. Version 2 has an
// operation's own descriptor in between, which 3 has not.
#pragma once

#include <cstdint>

#include <dnnl.hpp>

namespace stepscope::workloads::host {

/// `operation`: in the order of oneDNN's own arguments.
template <class Primitive, class... Operation>
typename Primitive::primitive_desc describe(dnnl::engine const& engine,
                                            dnnl::primitive_attr const& attributes,
                                            Operation const&... operation) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, operation..., attributes};
#else
  return {typename Primitive::desc(operation...), attributes, engine};
#endif
}

/// `forward`: of the pass that this one goes back.
template <class Primitive, class Forward, class... Operation>
typename Primitive::primitive_desc describe_backward(dnnl::engine const& engine,
                                                     dnnl::primitive_attr const& attributes,
                                                     Forward const& forward,
                                                     Operation const&... operation) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, operation..., forward, attributes};
#else
  return {typename Primitive::desc(operation...), attributes, engine, forward};
#endif
}

/// Windows over the two last dimensions of `x`.
struct MaxPoolWindows {
  dnnl::memory::desc x, y;
  dnnl::memory::dims stride, window, front, back;  ///< front and back: the padding
};
inline dnnl::pooling_forward::primitive_desc describe_max_pool(
    dnnl::engine const& engine, dnnl::primitive_attr const& attributes, MaxPoolWindows const& of) {
  auto const training = dnnl::prop_kind::forward_training;
  auto const max = dnnl::algorithm::pooling_max;

#if DNNL_VERSION_MAJOR >= 3
  dnnl::memory::dims const no_holes(of.window.size(), 0);
  return describe<dnnl::pooling_forward>(engine, attributes, training, max, of.x, of.y, of.stride,
                                         of.window, no_holes, of.front, of.back);
#else
  return describe<dnnl::pooling_forward>(engine, attributes, training, max, of.x, of.y, of.stride,
                                         of.window, of.front, of.back);
#endif
}
inline dnnl::pooling_backward::primitive_desc describe_max_pool_backward(
    dnnl::engine const& engine, dnnl::primitive_attr const& attributes,
    dnnl::pooling_forward::primitive_desc const& forward, MaxPoolWindows const& of) {
  auto const max = dnnl::algorithm::pooling_max;

#if DNNL_VERSION_MAJOR >= 3
  dnnl::memory::dims const no_holes(of.window.size(), 0);
  return describe_backward<dnnl::pooling_backward>(engine, attributes, forward, max, of.x, of.y,
                                                   of.stride, of.window, no_holes, of.front,
                                                   of.back);
#else
  return describe_backward<dnnl::pooling_backward>(engine, attributes, forward, max, of.x, of.y,
                                                   of.stride, of.window, of.front, of.back);
#endif
}

/// Local response normalisation across channels; `alpha` is divided by the size of the window.
struct LrnWindow {
  dnnl::memory::desc x;
  int64_t size = 1;
  float alpha = 0, beta = 0, bias = 1;
};
inline dnnl::lrn_forward::primitive_desc describe_lrn(dnnl::engine const& engine,
                                                      dnnl::primitive_attr const& attributes,
                                                      LrnWindow const& of) {
  auto const training = dnnl::prop_kind::forward_training;
  auto const across = dnnl::algorithm::lrn_across_channels;

#if DNNL_VERSION_MAJOR >= 3
  return describe<dnnl::lrn_forward>(engine, attributes, training, across, of.x, of.x, of.size,
                                     of.alpha, of.beta, of.bias);
#else
  return describe<dnnl::lrn_forward>(engine, attributes, training, across, of.x, of.size, of.alpha,
                                     of.beta, of.bias);
#endif
}
inline dnnl::lrn_backward::primitive_desc describe_lrn_backward(
    dnnl::engine const& engine, dnnl::primitive_attr const& attributes,
    dnnl::lrn_forward::primitive_desc const& forward, LrnWindow const& of) {
  auto const across = dnnl::algorithm::lrn_across_channels;

#if DNNL_VERSION_MAJOR >= 3
  return describe_backward<dnnl::lrn_backward>(engine, attributes, forward, across, of.x, of.x,
                                               of.x, of.size, of.alpha, of.beta, of.bias);
#else
  return describe_backward<dnnl::lrn_backward>(engine, attributes, forward, across, of.x, of.x,
                                               of.size, of.alpha, of.beta, of.bias);
#endif
}

/// Adds a function of alpha and beta (linear: alpha · x + beta) to what is done to a result.
inline void append_function(dnnl::post_ops& after, dnnl::algorithm function, float alpha,
                            float beta) {
#if DNNL_VERSION_MAJOR >= 3
  after.append_eltwise(function, alpha, beta);
#else
  after.append_eltwise(1.0F, function, alpha, beta);
#endif
}

/// The result of a matrix product is alpha times what it was. Before anything is added to it.
inline void scale_result(dnnl::primitive_attr& attributes, dnnl::post_ops& after, float alpha) {
#if DNNL_VERSION_MAJOR >= 3
  static_cast<void>(attributes);
  append_function(after, dnnl::algorithm::eltwise_linear, alpha, 0.0F);
#else
  static_cast<void>(after);
  attributes.set_output_scales(0, {alpha});
#endif
}

}  // namespace stepscope::workloads::host
