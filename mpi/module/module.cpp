// The library libstepscope-mpi.so; see module.h. The only source that includes MPI.
#include "mpi/module/module.h"

#include <mpi.h>

#include <array>
#include <memory>

namespace stepscope::mpi {
namespace {

char const* error_text(int code) {
  static std::array<char, MPI_MAX_ERROR_STRING> text;
  if (code == MPI_SUCCESS) return nullptr;
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) return "an MPI call failed";
  return text.data();
}

char const* start(int* rank, int* size) {
  int level = 0;
  // One thread makes all calls, which is not the one that runs main().
  if (char const* const error =
          error_text(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level)))
    return error;
  if (level < MPI_THREAD_SERIALIZED) return "this MPI allows no calls from threads";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  return error_text(MPI_Comm_size(MPI_COMM_WORLD, size));
}

char const* send(void const* data, size_t bytes, int to, int tag, void** request) {
  auto made = std::make_unique<MPI_Request>();
  char const* const error = error_text(
      MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD, made.get()));
  if (error == nullptr) *request = made.release();
  return error;
}

char const* receive(void* data, size_t bytes, int from, int tag, void** request) {
  auto made = std::make_unique<MPI_Request>();
  char const* const error = error_text(
      MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, MPI_COMM_WORLD, made.get()));
  if (error == nullptr) *request = made.release();
  return error;
}

char const* test(void* request, bool* over) {
  auto* const tested = static_cast<MPI_Request*>(request);
  int done = 0;
  char const* const error = error_text(MPI_Test(tested, &done, MPI_STATUS_IGNORE));
  *over = done != 0 || error != nullptr;
  if (*over) delete tested;
  return error;
}

void finish() { MPI_Finalize(); }

constexpr MpiModule kModule = {start, send, receive, test, finish};

}  // namespace
}  // namespace stepscope::mpi

extern "C" __attribute__((visibility("default"))) stepscope::mpi::MpiModule const*
stepscope_mpi_module() {
  return &stepscope::mpi::kModule;
}
