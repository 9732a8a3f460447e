#include "trace/model/build/communication_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

namespace stepscope::model {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(char a, char b) { return lower(a) == b; }

bool contains(std::string_view name, std::string_view part) {
  return std::search(name.begin(), name.end(), part.begin(), part.end(), equal_ignoring_case) !=
         name.end();
}

/// Lower case letters alone.
std::string letters_of(std::string_view name) {
  std::string letters;
  for (char const c : name) {
    if (char const l = lower(c); l >= 'a' && l <= 'z') letters += l;
  }
  return letters;
}

bool contains_letters(std::string_view letters, std::string_view part) {
  return letters.find(part) != std::string_view::npos;
}

/// The function that a kernel's name names, with its namespaces: no return type, no arguments of
/// functions or templates, for these name other things.
class KernelFunction {
 public:
  explicit KernelFunction(std::string_view name) {
    if (name.starts_with("_Z"))
      read_mangled(name.substr(2));
    else
      read_plain(name);
    if (!spaces_.empty()) function_ = letters_of(spaces_.back());
  }

  /// Letters of the function's own name, in lower case: "twoShotAllReduceKernel" and
  /// "two_shot_all_reduce_kernel" are one.
  [[nodiscard]] std::string const& function() const { return function_; }
  /// Whether it stands in a namespace of that name.
  [[nodiscard]] bool is_in(std::string_view space) const {
    return !spaces_.empty() &&
           std::find(spaces_.begin(), spaces_.end() - 1, space) != spaces_.end() - 1;
  }
  /// The outermost name, in lower case; empty when there is none.
  [[nodiscard]] std::string_view outermost() const {
    return spaces_.empty() ? std::string_view() : spaces_.front();
  }
  /// Whether any of its names contains the text, which is in lower case.
  [[nodiscard]] bool mentions(std::string_view part) const {
    return std::any_of(spaces_.begin(), spaces_.end(),
                       [&](std::string const& each) { return contains_letters(each, part); });
  }

 private:
  /// Names deeper than that are no kernel's: damage.
  static constexpr size_t kMostNames = 32;

  void add(std::string_view name) {
    if (name.empty() || spaces_.size() == kMostNames) return;
    std::string& lowered = spaces_.emplace_back(name);
    std::transform(lowered.begin(), lowered.end(), lowered.begin(), lower);
  }

  /// "void vllm::cross_device_reduce_1stage<float, 8>(…)"
  void read_plain(std::string_view name) {
    constexpr std::string_view kUnnamed = "(anonymous namespace)";
    std::string word;
    size_t depth = 0;

    for (size_t i = 0; i < name.size(); ++i) {
      char const c = name[i];
      if (c == '<') ++depth;
      if (depth == 0 && c == '(') {
        if (!name.substr(i).starts_with(kUnnamed)) break;
        i += kUnnamed.size() - 1;
      } else if (depth == 0 && c == ' ') {
        std::string_view const rest = name.substr(i + 1);
        if (rest.empty() || rest.starts_with('[')) break;  // " [clone .kd]"
        word.clear();  // what stood before is the type that it returns
        spaces_.clear();
      } else if (depth == 0 && c == ':') {
        add(word);
        word.clear();
      } else if (depth == 0) {
        word += c;
      }
      if (c == '>' && depth > 0) --depth;
    }

    add(word);
  }

  /// "N4vllm27cross_device_reduce_1stageI…": Itanium's names have their lengths before them.
  void read_mangled(std::string_view text) {
    bool const is_nested = text.starts_with('N');
    if (is_nested) text.remove_prefix(1);

    while (!text.empty()) {
      if (text.front() == 'L') text.remove_prefix(1);  // of this source alone
      size_t length = 0;
      auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
      if (error != std::errc{}) break;
      text.remove_prefix(static_cast<size_t>(end - text.data()));
      if (length > text.size()) break;

      std::string_view const name = text.substr(0, length);
      if (!name.starts_with("_GLOBAL__N_")) add(name);
      text.remove_prefix(length);
      if (!is_nested) break;
    }
  }

  std::vector<std::string> spaces_;  ///< its namespaces, then itself
  std::string function_;
};

enum class Match : uint8_t {
  kBegin,      ///< the outermost name begins with it
  kMention,    ///< the function or a namespace contains it
  kNamespace,  ///< a namespace is it
  kFunction,   ///< letters that the function's own name contains
  kWhole       ///< the letters of the function's own name are it
};
struct KnownKernel {
  Match match;
  std::string_view text;
  CollectiveOp op = CollectiveOp::kUnknown;  ///< kUnknown: as the name says
};

/// THE list of kernels that move data between ranks or wait for them, by their names, with whose
/// they are. Not "hip": every kernel of an AMD GPU has that. Not "reduce", "gather", "scatter",
/// "dispatch" alone: most kernels with such names compute.
constexpr std::array kKnownKernels = {
    // NCCL, RCCL, MSCCL, and what other vendors named after it: "ncclDevKernel_…", "mscclKernel_…".
    KnownKernel{Match::kBegin, "nccl"},
    KnownKernel{Match::kBegin, "rccl"},
    KnownKernel{Match::kMention, "cclkernel"},
    KnownKernel{Match::kMention, "ccldevkernel"},
    // Microsoft's MSCCL++: mscclpp::allreduceNvls.
    KnownKernel{Match::kNamespace, "mscclpp"},
    // Intel's oneCCL.
    KnownKernel{Match::kBegin, "oneccl"},
    KnownKernel{Match::kNamespace, "ccl"},
    // Huawei's HCCL ("hcom_allReduce__123_0_1") and its kernels for experts on other ranks.
    KnownKernel{Match::kBegin, "hcom_"},
    KnownKernel{Match::kBegin, "hccl"},
    KnownKernel{Match::kFunction, "moedistribute", CollectiveOp::kAllToAll},
    // NVSHMEM: nvshmemi_…, "barrier_on_stream_kernel", and Transformer Engine's waits on it.
    KnownKernel{Match::kMention, "nvshmem"},
    KnownKernel{Match::kFunction, "onstreamkernel"},
    KnownKernel{Match::kFunction, "waituntilonstream", CollectiveOp::kBarrier},
    // DeepSeek's DeepEP: deep_ep::intranode::dispatch, deep_ep::internode::combine.
    KnownKernel{Match::kMention, "deep_ep"},
    // AMD's MORI: EpDispatchIntraNodeKernel.
    KnownKernel{Match::kNamespace, "mori"},
    // TensorRT-LLM, FlashInfer and pplx, for experts on other ranks: moeA2ADispatchKernel,
    // a2a_combine_send (letters alone).
    KnownKernel{Match::kFunction, "aadispatch", CollectiveOp::kAllToAll},
    KnownKernel{Match::kFunction, "aacombine", CollectiveOp::kAllToAll},
    // vLLM, SGLang, aiter: cross_device_reduce_1stage, _2stage, _naive.
    KnownKernel{Match::kFunction, "crossdevicereduce", CollectiveOp::kAllReduce},
    // AMD's QuickReduce in vLLM and SGLang.
    KnownKernel{Match::kNamespace, "quickreduce", CollectiveOp::kAllReduce},
    // Transformer Engine and TensorRT-LLM: userbuffers_fp16_sum_inplace_gpu_rw,
    // kuserbuffers_pushsend.
    KnownKernel{Match::kFunction, "userbuffers"},
    // TensorRT-LLM and FlashInfer: kernels that wait for peers by a value that no sum has
    // (Lamport).
    KnownKernel{Match::kFunction, "oneshotlamport", CollectiveOp::kAllReduce},
    KnownKernel{Match::kFunction, "lamportoneshot", CollectiveOp::kAllReduce},
    KnownKernel{Match::kFunction, "rmsnormlamport", CollectiveOp::kAllReduce},
    // PyTorch's symmetric memory: one_shot_all_reduce_kernel, multimem_all_gather_kernel and their
    // barriers; all others that say
    // what they do: oneShotAllReduceKernel, allreduce_fusion_kernel, moe_allreduce,
    // reduce_scatter_cross_device_store.
    KnownKernel{Match::kWhole, "barrierkernel", CollectiveOp::kBarrier},
    KnownKernel{Match::kWhole, "putsignalkernel", CollectiveOp::kSend},
    KnownKernel{Match::kWhole, "waitsignalkernel", CollectiveOp::kReceive},
    KnownKernel{Match::kFunction, "allreduce", CollectiveOp::kAllReduce},
    KnownKernel{Match::kFunction, "reducescatter", CollectiveOp::kReduceScatter},
    KnownKernel{Match::kFunction, "allgather", CollectiveOp::kAllGather},
    KnownKernel{Match::kFunction, "alltoall", CollectiveOp::kAllToAll},
};
/// Rows of the list up to here are of libraries that only communicate: no word of the name speaks
/// against it.
constexpr size_t kPureLibraries = 6;

/// Letters of functions that work on one device though a name of the list is in them.
constexpr std::array<std::string_view, 12> kLocal = {
    "warpallreduce",  "blockallreduce", "threadallreduce", "clusterallreduce",
    "groupallreduce",                                                  // within a kernel's threads
    "memset",         "initialize",     "lamportinit",     "prepare",  // what comes before
    "allgathercopy",              // FSDP's packing and unpacking
    "gemm",           "matmul"};  // multiplies, too: it would hide that the device computes

/// Inductor names its kernels after the operators around them: "triton_poi_fused_all_reduce_mul_2"
/// computes.
bool is_named_by_compiler(KernelFunction const& kernel) {
  constexpr std::array<std::string_view, 7> kKinds = {"triton_poi_", "triton_red_", "triton_per_",
                                                      "triton_tem_", "triton_for_", "triton_mm",
                                                      "triton_unk_"};
  std::string_view const name = kernel.outermost();
  return std::any_of(kKinds.begin(), kKinds.end(),
                     [&](std::string_view kind) { return name.starts_with(kind); });
}

bool matches(KernelFunction const& kernel, KnownKernel const& known) {
  switch (known.match) {
    case Match::kBegin:
      return kernel.outermost().starts_with(known.text);
    case Match::kMention:
      return kernel.mentions(known.text);
    case Match::kNamespace:
      return kernel.is_in(known.text);
    case Match::kFunction:
      return contains_letters(kernel.function(), known.text);
    case Match::kWhole:
      return kernel.function() == known.text;
  }
  return false;
}

/// The kernel's row of the list; nullptr for one that computes.
KnownKernel const* find_known(KernelFunction const& kernel) {
  auto const known = std::find_if(kKnownKernels.begin(), kKnownKernels.end(),
                                  [&](KnownKernel const& row) { return matches(kernel, row); });
  if (known == kKnownKernels.end()) return nullptr;
  if (known < kKnownKernels.begin() + kPureLibraries) return &*known;

  bool const is_local = std::any_of(kLocal.begin(), kLocal.end(), [&](std::string_view part) {
    return contains_letters(kernel.function(), part);
  });
  // deep_ep::layout counts tokens before they are sent.
  return is_local || kernel.is_in("layout") || is_named_by_compiler(kernel) ? nullptr : &*known;
}

/// DeepEP's and MORI's: tokens go to the ranks of their experts, and come back.
CollectiveOp exchange_of(std::string_view function) {
  bool const is_exchange =
      contains_letters(function, "dispatch") || contains_letters(function, "combine");
  return is_exchange ? CollectiveOp::kAllToAll : CollectiveOp::kUnknown;
}

}  // namespace

bool is_communication_kernel(std::string_view name) {
  return find_known(KernelFunction(name)) != nullptr;
}

CollectiveOp collective_op_of(std::string_view name) {
  struct Name {
    std::string_view part;
    CollectiveOp op;
  };
  // "reduce" is in others: last.
  constexpr std::array<Name, 10> kNames = {{{"allreduce", CollectiveOp::kAllReduce},
                                            {"reducescatter", CollectiveOp::kReduceScatter},
                                            {"allgather", CollectiveOp::kAllGather},
                                            {"alltoall", CollectiveOp::kAllToAll},
                                            {"broadcast", CollectiveOp::kBroadcast},
                                            {"sendrecv", CollectiveOp::kUnknown},
                                            {"send", CollectiveOp::kSend},
                                            {"recv", CollectiveOp::kReceive},
                                            {"barrier", CollectiveOp::kBarrier},
                                            {"reduce", CollectiveOp::kReduce}}};

  std::string const letters = letters_of(name);
  auto const found = std::find_if(kNames.begin(), kNames.end(), [&](Name const& known) {
    return letters.find(known.part) != std::string::npos;
  });

  return found == kNames.end() ? CollectiveOp::kUnknown : found->op;
}

CollectiveDetail collective_of_kernel(std::string_view name) {
  CollectiveDetail detail;
  KernelFunction const kernel(name);
  KnownKernel const* const known = find_known(kernel);
  detail.op = known != nullptr && known->op != CollectiveOp::kUnknown
                  ? known->op
                  : collective_op_of(kernel.function());
  if (detail.op == CollectiveOp::kUnknown && (kernel.mentions("deep_ep") || kernel.is_in("mori")))
    detail.op = exchange_of(kernel.function());

  // The rest of the name states the algorithm and the protocol in NCCL's words.
  name = name.substr(0, name.find('('));
  if (!contains(name, "ccl")) return detail;
  if (contains(name, "_ring")) detail.algorithm = CollectiveAlgorithm::kRing;
  if (contains(name, "_tree")) detail.algorithm = CollectiveAlgorithm::kTree;
  if (contains(name, "_nvls")) detail.algorithm = CollectiveAlgorithm::kNvls;
  if (contains(name, "_collnet")) detail.algorithm = CollectiveAlgorithm::kCollnetDirect;
  if (contains(name, "_simple")) detail.protocol = CollectiveProtocol::kSimple;
  if (contains(name, "_ll")) detail.protocol = CollectiveProtocol::kLl;
  if (contains(name, "_ll128")) detail.protocol = CollectiveProtocol::kLl128;
  return detail;
}

}  // namespace stepscope::model
