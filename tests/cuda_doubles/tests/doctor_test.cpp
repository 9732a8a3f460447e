// What `stepscope doctor` says of the doubles as they are, of one that is cut, and of one that has
// none of its functions.
#include <ostream>
#include <string>
#include <string_view>

#include "tests/cuda_doubles/tests/over_doubles.h"

namespace stepscope::cuda_doubles {
namespace {

using ::testing::HasSubstr;

/// One of the doubles, and the words on it when something is wrong.
struct Examined {
  char const* soname;
  char const* check;              ///< name of its line
  char const* fault_status;       ///< of that line
  char const* without_functions;  ///< the words on a file of another library
  char const* affected;           ///< of Stepscope, or what to do
};

void PrintTo(Examined const& library, std::ostream* out) { *out << library.soname; }

class DoctorOverDoubles : public OverDoubles, public testing::WithParamInterface<Examined> {
 protected:
  /// Looks for the line of the library that names `found`. This machine may have a whole one, with
  /// a line of its own.
  void expect_line(std::string const& status, std::string const& found,
                   std::string const& affected) const {
    auto const outcome = over_doubles(
        "doctor --json", "DOUBLE_CUDA_DEVICES=2 STEPSCOPE_CUPTI=" + quoted(vendor_ + kCupti));
    SKIP_WITHOUT_NAMESPACE(outcome);
    auto const all = nlohmann::json::parse(outcome.output, nullptr, false);
    ASSERT_TRUE(all.is_object()) << outcome.output;

    for (auto const& line : all["checks"]) {
      if (line["name"] != GetParam().check || line["verdict"] != status) continue;
      std::string const text = line["found"].get<std::string>() + line["fix"].get<std::string>();
      if (text.find(found) == std::string::npos) continue;
      EXPECT_THAT(text, HasSubstr(affected));
      return;
    }
    ADD_FAILURE() << "no " << status << " line of " << GetParam().check << " that says " << found
                  << ":\n"
                  << outcome.output;
  }
  [[nodiscard]] std::string file() const {
    std::filesystem::path const folder = std::filesystem::canonical(vendor_);
    return (folder / GetParam().soname).string();
  }

 private:
  static constexpr char const* kCupti = "/libcupti.so.13";
};

/// Doctor warns of known faults of CUPTI and NCCL.
TEST_P(DoctorOverDoubles, NamesTheFileThatIsFound) {
  bool const has_known_faults =
      GetParam().check == std::string_view("NCCL") || GetParam().check == std::string_view("CUPTI");
  expect_line(has_known_faults ? "WARN" : "OK", file(), "");
}

TEST_P(DoctorOverDoubles, NamesAFileWithoutItsFunctions) {
  take_functions_of(GetParam().soname);
  expect_line(GetParam().fault_status, GetParam().without_functions, GetParam().affected);
}

TEST_P(DoctorOverDoubles, NamesAFileThatIsCut) {
  cut(GetParam().soname);
  expect_line(GetParam().fault_status, file() + ": is incomplete", "");
}

INSTANTIATE_TEST_SUITE_P(
    All, DoctorOverDoubles,
    testing::Values(
        Examined{"libcuda.so.1", "driver", "FAIL", "libcuda.so.1: is not the library of an NVIDIA",
                 "install the NVIDIA driver"},
        Examined{"libnvidia-ml.so.1", "NVML", "WARN", "libnvidia-ml.so.1: has no nvmlInit_v2",
                 "GPU counters are not sampled"},
        Examined{"libcupti.so.13", "CUPTI", "WARN", "libcupti.so.13: has no cupti",
                 "traced by their annotations alone"},
        Examined{"libcublasLt.so.13", "cuBLASLt", "WARN",
                 "the file calls itself libnvidia-ml.so.1, it is of another library or version: "
                 "has no cublasLt",
                 "no bundled workload runs with --device cuda"},
        Examined{"libcudnn.so.9", "cuDNN", "WARN",
                 "the file calls itself libnvidia-ml.so.1, it is of another library or version: "
                 "has no cudnn",
                 "no bundled workload runs with --device cuda"},
        Examined{"libnccl.so.2", "NCCL", "WARN",
                 "tells no version: the file calls itself libnvidia-ml.so.1",
                 "slower kernels of Stepscope"}),
    [](auto const& test) {
      std::string name = test.param.check;
      return name;
    });

/// The double of NCCL says which version it is.
class NcclVersionOverDoubles : public OverDoubles {};

TEST_F(NcclVersionOverDoubles, DoctorSaysWhatAnOldOrNewOneLacks) {
  auto const old = over_doubles("doctor", "DOUBLE_NCCL_VERSION=22203");
  SKIP_WITHOUT_NAMESPACE(old);
  EXPECT_THAT(old.output, HasSubstr("2.22.3"));
  EXPECT_THAT(old.output, HasSubstr("knows no profiler plugins"));
  EXPECT_THAT(over_doubles("doctor", "DOUBLE_NCCL_VERSION=23300").output,
              HasSubstr("newer than those that the plugin was made after"));
}

}  // namespace
}  // namespace stepscope::cuda_doubles
