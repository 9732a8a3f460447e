// Odd names and what else a program can hand to NVTX, and the program's own environment.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "tests/e2e/attacks/attack_case.h"

namespace stepscope::attacks {
namespace {

int odd_names(Arguments const& /*unused*/) {
  std::string const huge((20U << 20) - 1, 'A');
  for (int i = 0; i < 20; ++i) nvtxMarkA(huge.c_str());

  nvtxMarkA(nullptr);
  nvtxMarkA("");
  nvtxMarkA("\xff\xfe\x80");
  for (int i = 0; i < 300'000; ++i) nvtxMarkA(("unique name " + std::to_string(i)).c_str());

  nvtxRangePop();
  nvtxRangePop();
  nvtxRangeEnd(12345);
  nvtxRangeEnd(~0ULL);

  nvtxEventAttributes_t attributes{};
  std::memset(&attributes, 0xff, sizeof attributes);
  nvtxMarkEx(&attributes);

  std::puts("ok");
  return 0;
}

/// More bytes at once than the buffers hold. NUMBERs: bytes a name, marks.
int burst(Arguments const& arguments) {
  std::string const name(static_cast<size_t>(arguments.number(0, 3000)), 'A');
  long const marks = arguments.number(1, 20'000);

  for (long i = 0; i < marks; ++i) nvtxMarkA(name.c_str());
  for (long i = 0; i < marks; ++i) nvtxRangeEnd(nvtxRangeStartA(name.c_str()));
  for (long i = 0; i < marks; ++i) {
    nvtxRangePushA(name.c_str());
    nvtxRangePop();
  }

  std::puts("ok");
  return 0;
}

int print_environment(Arguments const& /*unused*/) {
  work(1);
  for (char** variable = environ; *variable != nullptr; ++variable) std::puts(*variable);
  return 0;
}

int change_priority(Arguments const& /*unused*/) {
  work(10);
  errno = 0;
  std::printf("nice %d\n", ::nice(5));
  work(1000);
  return 0;
}

constexpr Case kCases[] = {
    {"names", odd_names}, {"burst", burst}, {"env", print_environment}, {"nice", change_priority}};

}  // namespace

Theme name_cases() { return {"names", kCases}; }

}  // namespace stepscope::attacks
