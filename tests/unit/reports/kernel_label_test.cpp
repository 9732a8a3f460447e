// Names of kernels in lines: what tells them apart stays longest.
#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include "reports/text/layout.h"
#include "reports/words/kernel_label.h"

namespace stepscope::reports {
namespace {

/// Kernels are named by identifiers: a column each.
size_t characters_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

constexpr std::string_view kAdd =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::Half>, "
    "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<c10::Half>, "
    "at::detail::Array<char*, 3>)";

TEST(KernelLabel, arguments_are_left_out) {
  EXPECT_EQ(without_arguments("void gemm<float, 4>(int, float (*)(int))"), "void gemm<float, 4>");
  EXPECT_EQ(without_arguments("void (anonymous namespace)::f()"), "void (anonymous namespace)::f");
  for (char const* const name : {"gemm", "", "()", "(a)", ")", "a)b)", "void f(int) [clone .1]"})
    EXPECT_EQ(without_arguments(name), name);
}

TEST(KernelLabels, say_what_tells_names_apart_that_would_look_alike) {
  std::vector<std::string> const names = {
      "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_cublas",
      "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize256x64x64_warpgroupsize1x1x1_cublas",
      "gemm",
      std::string(kAdd),
      "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::"
      "BinaryFunctor<float, float, float, at::native::MulFunctor<float> > > >(int)",
      "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<at::native::"
      "BinaryFunctor<float, float, float, at::native::MulFunctor<float> > > >(int)",
  };
  EXPECT_THAT(kernel_labels(names, 50),
              testing::ElementsAre("sm90_xmma_gemm_bf…x1x1_cublas [tilesize128x128x64]",
                                   "sm90_xmma_gemm_bf1…x1x1_cublas [tilesize256x64x64]", "gemm",
                                   "vectorized_elementwise_kernel<…CUDAFunctor_add…>",
                                   "elementwise_kernel<…MulFunctor…> [2]",
                                   "elementwise_kernel<…MulFunctor…> [4]"));
}

TEST(KernelLabels, have_no_part_that_tells_nothing) {
  std::string const name(5000, 'x');
  std::vector<std::string> const names = {name + "A", name + "B"};
  EXPECT_THAT(kernel_labels(names, 40), testing::Each(kernel_label(names[0], 40)));
}

TEST(KernelLabels, of_narrow_columns_equal_names_and_odd_bytes_stay_within_the_columns) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> names;
    for (int i = 0; i < 12; ++i) {
      std::string name = "kernel_of_a_library_";
      for (int part = 0; part < 6; ++part)
        name += std::array{"é", "<a::", "_7", "x", "\xff", "(int)"}[random() % 6];
      names.push_back(name + "_and_what_all_names_end_with");
      if (i % 4 == 0) names.push_back(names.back());
    }

    size_t const columns = 2 + random() % 50;
    auto const labels = kernel_labels(names, columns);
    ASSERT_EQ(labels.size(), names.size());
    for (size_t i = 0; i < names.size(); ++i) {
      EXPECT_LE(characters_of(labels[i]), columns) << labels[i];
      bool const is_equal = i > 0 && names[i] == names[i - 1];
      EXPECT_TRUE(!is_equal || labels[i] == labels[i - 1]) << labels[i];
    }
  }
}

TEST(KernelLabel, a_short_name_stays) {
  EXPECT_EQ(kernel_label("ampere_sgemm_128x64_nn", 48), "ampere_sgemm_128x64_nn");
  EXPECT_EQ(kernel_label("void f(int)", 48), "void f(int)");
  EXPECT_EQ(kernel_label("", 48), "");
}

TEST(KernelLabel, functors_stay_and_scopes_go) {
  EXPECT_EQ(kernel_label(kAdd, 120),
            "at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::Half>, "
            "at::detail::Array<char*, 3> >");
  EXPECT_EQ(kernel_label(kAdd, 80),
            "vectorized_elementwise_kernel<4, CUDAFunctor_add<Half>, Array<char*, 3> >");

  EXPECT_EQ(kernel_label(kAdd, 50), "vectorized_elementwise_kernel<…CUDAFunctor_add…>");
  EXPECT_EQ(kernel_label(kAdd, 40), "vectorized_e…e_kernel<…CUDAFunctor_add…>");
  EXPECT_EQ(kernel_label(kAdd, 24), "vec…l<…CUDAFunctor_add…>");
  EXPECT_EQ(kernel_label(kAdd, 20), "vectorized_e…*, 3> >");
  EXPECT_EQ(kernel_label("void at::native::(anonymous namespace)::softmax<float>(float*, int)", 30),
            "softmax<float>");
  EXPECT_EQ(kernel_label("void scoped<int>::operator()(a very long list of arguments)", 30),
            "scoped<int>::operator()");
}

TEST(KernelLabel, namespaces_without_a_name_go) {
  constexpr std::string_view kNsys =
      "void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::"
      "TensorListMetadata<2>, at::native::<unnamed>::UnaryOpFunctor<float, 2, 1, 1>>(int)";
  EXPECT_EQ(kernel_label(kNsys, 50), "multi_tensor_apply_kernel<…UnaryOpFunctor…>");
  EXPECT_EQ(kernel_label("Kernel<cutlass::arch::OpClassTensorOp, 128, 128, 32, Sm80, float>", 40),
            "Kernel<OpClassTensorOp, …2, Sm80, float>");
}

/// A name may stand in a sentence: its quotation mark is no part of a scope.
TEST(KernelLabel, quotation_marks_stay) {
  EXPECT_EQ(kernel_label("launch-bound, “autograd::engine::evaluate_function: AccumulateGrad”", 55),
            "launch-bound, “evaluate_function: AccumulateGrad”");
}

/// Functors hold functors: the inner one says what is computed.
TEST(KernelLabel, the_innermost_functor_stays) {
  constexpr std::string_view kMean =
      "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
      "at::native::MeanOps<float, "
      "float, float, float>, unsigned int, float, 4> >(at::native::ReduceOp<float>)";
  EXPECT_EQ(kernel_label(kMean, 40), "reduce_kernel<…MeanOps…>");

  constexpr std::string_view kCopy =
      "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::"
      "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const> >(int)";
  EXPECT_EQ(kernel_label(kCopy, 50), "elementwise_kernel<…direct_copy_kernel_cuda…>");
  EXPECT_EQ(kernel_label("gemm<float, 128, 64, 32, 4, true, false, 1>", 30),
            "gemm<float, 128, 6…, false, 1>");
}

/// Whatever the bytes are, the label fits and is printable.
TEST(KernelLabel, any_text_fits) {
  std::minstd_rand random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string name;
    for (size_t i = random() % 200; i > 0; --i)
      name += round % 2 == 0 ? static_cast<char>(random()) : ":<>( )é\x1b"[random() % 10];

    size_t const most = random() % 60;
    std::string const label = kernel_label(name, most);
    EXPECT_LE(characters_of(label), std::max<size_t>(most, 2)) << label;
    EXPECT_EQ(label.find('\x1b'), std::string::npos);
  }
}

}  // namespace
}  // namespace stepscope::reports
