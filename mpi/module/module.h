// What the program calls of MPI. It is a library of its own, libstepscope-mpi.so, loaded when a
// launcher has started several processes: the program itself needs no MPI to start.
#pragma once

#include <cstddef>

namespace stepscope::mpi {

/// All but load by one thread. Texts are errors, null = good; they stay until the next call.
struct MpiModule {
  /// MPI_Init; who of how many.
  char const* (*start)(int* rank, int* size);
  // Begin a message of at most INT_MAX bytes; `request` is given back by test().
  char const* (*send)(void const* data, size_t bytes, int to, int tag, void** request);
  char const* (*receive)(void* data, size_t bytes, int from, int tag, void** request);
  /// Whether it is over.
  char const* (*test)(void* request, bool* over);
  /// MPI_Finalize; every process must do it.
  void (*finish)();
};

/// The one symbol of the library: MpiModule const* stepscope_mpi_module().
constexpr char const* kMpiModuleSymbol = "stepscope_mpi_module";

}  // namespace stepscope::mpi
