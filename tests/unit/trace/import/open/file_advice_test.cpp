// Files that people name and that are no trace of ours: each is called what it is, and the message
// says what to do.
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/workloads/temporary_folder.h"
#include "trace/import/open/open_run.h"

namespace stepscope::import {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using workloads::testing::TemporaryFolder;

struct OtherFile {
  std::string name, content, says;
};

std::vector<OtherFile> binary_files() {
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  std::string utf16 = "\xFF\xFE";
  for (char const c : "{\"traceEvents\":["s) utf16 += std::string{c, '\0'};
  std::string utf32 = "\xFF\xFE\0\0"s;
  for (char const c : "{\"traceEvents\":["s) utf32 += std::string{c, '\0', '\0', '\0'};

  std::string core =
      "\x7F"
      "ELF\2\1\1"s +
      std::string(9, '\0') + "\4"s + std::string(40, '\0');
  std::string const tensors =
      "\x40\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}"s;

  return {
      {"t.json.bz2", "BZh91AY&SY"s, "bunzip2 t.json.bz2"},
      {"t.json.xz", "\xFD\x37zXZ\0\0"s, "unxz t.json.xz"},
      {"t.json.lz4", "\x04\x22\x4D\x18zzzz"s, "unlz4 t.json.lz4"},
      {"renamed.json", "PK\x03\x04zzzzzzzzzz"s, "unzip renamed.json"},
      {"model.pt", "PK\x03\x04zzzzarchive/data.pkl"s, "torch.save"},
      {"all.tar", tar, "tar xf all.tar"},
      {"utf16.json", utf16, "UTF-16"},
      {"utf32.json", utf32, "UTF-32"},
      {"t.json.Z", "\x1F\x9D\x90zzzz"s, "uncompress t.json.Z"},
      {"t.json.br", "zzzz", "brotli -d t.json.br"},
      {"zeros.json", std::string(4096, '\0'), "nothing but zeros"},
      {"core.17", core, "core dump"},
      {"model.bin", tensors, "safetensors"},
      {"k.ncu-rep", "NVR\0zzz"s, "Nsight Compute"},
      {"r.nsys-rep", "zzzz", "nsys export --type sqlite"},
      {"prog",
       "\x7F"
       "ELF\2\1\1"s,
       "stepscope record -- PROGRAM"},
      {"t.parquet", "PAR1zzzz", "Parquet"},
      {"shot.png", "\x89PNG\r\n\x1A\n"s, "picture"},
      {"events.out.tfevents.1", "zzz", "TensorBoard"},
  };
}

std::vector<OtherFile> text_files() {
  return {
      {"warnings.json", "[W1126 03:01:02.345 socket.cpp:697] [c10d] cannot connect\n", "is a log"},
      {"train.json", "[rank0]:[W1126 03:01:02 ProcessGroupNCCL.cpp:1496] Warning\n", "is a log"},
      {"lines.json", "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1}\n",
       "jq -s"},
      {"rank-1.json", "version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "git lfs pull"},
      {"page.json", "\n<!DOCTYPE html><html>Log in</html>", "web page"},
      {"k.csv", "\"Kind\",\"Agent_Id\",\"Queue_Id\"\n", "rocprofv3 wrote"},
      {"s.csv", "Time (%),Total Time (ns),Instances\n", "nsys stats wrote"},
      {"o.csv", "Device_id,Op Name,OP Type\n", "msprof wrote"},
      {"open.json", "[", "holds no events"},
      {"empty.json", " {} \n", "holds no events"},
      {"analysis.json", "{\"schema\":1,\"run\":{},\"findings\":[]}", "Stepscope wrote"},
      {"config.json", "{\"learning_rate\": 1}", "no events of a trace"},
  };
}

TEST(FileAdvice, EachKindOfFileIsCalledWhatItIs) {
  TemporaryFolder const folder;
  std::vector<OtherFile> files = binary_files();
  for (OtherFile& file : text_files()) files.push_back(std::move(file));

  for (OtherFile const& file : files) {
    SCOPED_TRACE(file.name);
    std::ofstream(folder.file(file.name), std::ios::binary) << file.content;

    auto const run = open_run(folder.file(file.name));
    ASSERT_FALSE(run);

    EXPECT_THAT(run.error().message, HasSubstr(file.name + ": "));
    EXPECT_THAT(run.error().message, HasSubstr(file.says));
    EXPECT_THAT(run.error().message, Not(HasSubstr("no known trace format")));
  }
}

TEST(FileAdvice, AFolderWithoutATraceTellsOfTheFileThatMayHoldOne) {
  TemporaryFolder const folder;
  std::ofstream(folder.file("config.json")) << "{\"learning_rate\": 1}";
  std::ofstream(folder.file("trace.tar.xz"), std::ios::binary) << "\xFD\x37zXZ\0\0"s;
  auto const run = open_run(folder.path());
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr("the folder holds no trace. "));
  EXPECT_THAT(run.error().message, HasSubstr("unxz trace.tar.xz"));
}

TEST(FileAdvice, HiddenFilesOfAFolderAreNotTalkedAbout) {
  TemporaryFolder const folder;
  std::ofstream(folder.file(".stepscope.lock")) << "4711 profile";
  auto const run = open_run(folder.path());
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr("name a run folder or record one"));
}

TEST(FileAdvice, APointerInThePlaceOfARankIsNotPassedOverInSilence) {
  TemporaryFolder const folder;
  std::ofstream(folder.file("rank-0.json"))
      << R"({"traceEvents":[{"ph":"X","name":"k","cat":"kernel","pid":0,"tid":7,"ts":1,"dur":1,"args":{"device":0,"stream":7}}]})";
  std::ofstream(folder.file("rank-1.json"))
      << "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n";
  auto const run = open_run(folder.path());
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_FALSE(run->notes.empty());
  EXPECT_THAT(run->notes, ::testing::Contains(HasSubstr("git lfs pull")));
}

}  // namespace
}  // namespace stepscope::import
