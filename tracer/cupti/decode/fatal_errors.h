// Errors of CUDA after which a process cannot use its GPU any more: its context is lost. Numbers
// are the same in the runtime and the driver API.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace stepscope::tracer {

/// "device-side assert"; empty for errors that a program can go on after, as out of memory.
constexpr std::string_view fatal_error(uint32_t number) {
  struct Error {
    uint32_t number;
    std::string_view name;
  };

  constexpr std::array kErrors = {Error{214, "uncorrectable memory error"},
                                  Error{220, "uncorrectable NVLink error"},
                                  Error{700, "illegal memory access"},
                                  Error{702, "kernel timeout"},
                                  Error{710, "device-side assert"},
                                  Error{714, "hardware stack error"},
                                  Error{715, "illegal instruction"},
                                  Error{716, "misaligned address"},
                                  Error{717, "invalid address space"},
                                  Error{718, "invalid program counter"},
                                  Error{719, "failed kernel"}};

  for (Error const& error : kErrors)
    if (error.number == number) return error.name;
  return {};
}

}  // namespace stepscope::tracer
