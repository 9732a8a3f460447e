// The functions of {fmt} that its headers only declare unless it is used header-only, compiled
// once: see stepscope::fmt in cmake/dependencies.cmake.
#include <fmt/format.h>
