#include "tracer/nvtx/installed_callbacks.h"

#include <memory>

#include <gtest/gtest.h>

namespace stepscope::tracer {
namespace {

int ours, theirs;
void *first_slot = nullptr, *second_slot = nullptr;

TEST(InstalledCallbacksTest, empties_the_slots_of_loaded_libraries) {
  InstalledCallbacks callbacks;
  callbacks.install(&first_slot, &ours);
  callbacks.install(&second_slot, &ours);
  EXPECT_EQ(first_slot, &ours);
  EXPECT_EQ(callbacks.uninstall(), 2U);
  EXPECT_EQ(first_slot, nullptr);
  EXPECT_EQ(second_slot, nullptr);
  EXPECT_EQ(callbacks.uninstall(), 0U);
}

TEST(InstalledCallbacksTest, leaves_what_another_tool_has_put_there) {
  InstalledCallbacks callbacks;
  callbacks.install(&first_slot, &ours);
  first_slot = &theirs;
  EXPECT_EQ(callbacks.uninstall(), 0U);
  EXPECT_EQ(first_slot, &theirs);
}

TEST(InstalledCallbacksTest, leaves_memory_that_belongs_to_no_library_now) {
  InstalledCallbacks callbacks;
  auto const heap = std::make_unique<void*>(
      nullptr);  // as the memory of a library that was unloaded, given out again
  callbacks.install(heap.get(), &ours);
  EXPECT_EQ(callbacks.uninstall(), 0U);
  EXPECT_EQ(*heap, &ours);
}

}  // namespace
}  // namespace stepscope::tracer
