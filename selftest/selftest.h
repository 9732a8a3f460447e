// Does the capture tell the truth on this machine? Runs programs whose work is known under the
// tracer and holds the traces against what the programs say of themselves.
#pragma once

#include <functional>
#include <string>

#include "doctor/check.h"
#include "trace/base/expected.h"

namespace stepscope::selftest {

using doctor::Check;
using doctor::Verdict;

struct Setup {
  std::string program;  ///< stepscope
  std::string probe;    ///< the plain CUDA program
  std::string
      device;  ///< "host:2", "cuda", "cuda:0"; empty = host:2 and, where there is a GPU, cuda
  std::string folder;  ///< for the recordings: made and empty
};

/// Takes each check as soon as its answer is known.
using Report = std::function<void(Check const&)>;

/// Errors: a device that no part of the test knows.
base::Expected<void> run(Setup const& setup, Report const& report);

// The parts, in the order in which they run.
/// Gradients of every layer of the backend against finite differences.
void check_gradients(std::string const& device, Report const& report);
/// A short training: everything launched is in its trace, once, with its bytes and its time.
void check_training(Setup const& setup, std::string const& device, Report const& report);
/// What recording adds to a training's steps.
void check_overhead(Setup const& setup, std::string const& device, Report const& report);
/// The plain CUDA program: kernels, copies, graphs, streams and ends of every kind.
void check_probe(Setup const& setup, Report const& report);

}  // namespace stepscope::selftest
