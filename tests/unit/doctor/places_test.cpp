// Where the checks look.
#include "doctor/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/library.h"
#include "tests/unit/doctor/made_machine.h"

namespace stepscope::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST_F(MadeMachine, EntriesOfTheDriversFilesAreFoundByTheirKey) {
  write("/proc/driver/nvidia/params", "A: 1\nRmProfilingAdminOnly:   0 \nOdd line\n");
  EXPECT_EQ(read_entry(places_, "/proc/driver/nvidia/params", "RmProfilingAdminOnly"), "0");
  EXPECT_EQ(read_entry(places_, "/proc/driver/nvidia/params", "Missing"), std::nullopt);
  EXPECT_EQ(read_entry(places_, "/no/file", "A"), std::nullopt);
}

TEST_F(MadeMachine, PythonsPackagesAreThoseOfTheInterpreterInThePathAndOfTheSystem) {
  write("/opt/env/bin/python3", "");
  write("/opt/env/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2", "");
  write("/usr/local/lib/python3.11/dist-packages/nvidia/cu13/lib/libcudart.so.13", "");
  write("/usr/lib/perl/site-packages/nvidia/nccl/lib/libnccl.so.2", "");
  places_.environment["PATH"] = "/bin:/opt/env/bin";
  EXPECT_THAT(python_library_folders(places_),
              ElementsAre(EndsWith("/opt/env/lib/python3.12/site-packages/nvidia/nccl/lib"),
                          EndsWith("/dist-packages/nvidia/cu13/lib")));
}

TEST_F(MadeMachine, ALibraryTellsItsPathAndAMissingOneTheReason) {
  install("libnccl.so.2");
  auto const library = Library::open(places_, "libnccl.so.2");
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_THAT(library->path(), EndsWith("libraries/libnccl.so.2"));
  EXPECT_THAT(Library::open(places_, "libnothing.so").error().message, HasSubstr("libnothing.so"));
}

}  // namespace
}  // namespace stepscope::doctor
