// Layout: "SSCKPT01", then u64 XXH3 of the rest, then model (string), step, global batch, seed,
// weight count (u64 each), weights.
#include "workloads/training/checkpoint.h"

#include <xxhash.h>

#include <cstring>
#include <span>
#include <string_view>

#include "trace/base/bytes.h"
#include "trace/base/files/mapped_file.h"
#include "trace/base/files/output_file.h"

namespace stepscope::workloads {
namespace {

constexpr std::string_view kMagic = "SSCKPT01";
constexpr size_t kHeader = 16;  // magic and checksum

}  // namespace

base::Expected<void> save_checkpoint(std::string const& path, Checkpoint const& checkpoint) {
  base::ByteWriter writer;
  writer.put_bytes(std::as_bytes(std::span(kMagic)));
  writer.put(uint64_t{0});
  writer.put_string(checkpoint.model);
  writer.put(checkpoint.step);
  writer.put(checkpoint.global_batch);
  writer.put(checkpoint.seed);
  writer.put(static_cast<uint64_t>(checkpoint.weights.size()));
  writer.put_bytes(std::as_bytes(std::span(checkpoint.weights)));
  base::ByteSpan const rest = writer.span().subspan(kHeader);
  writer.patch(kMagic.size(), static_cast<uint64_t>(XXH3_64bits(rest.data(), rest.size())));
  base::ByteSpan const all = writer.span();
  return base::write_file_atomically(
      path, std::string_view(reinterpret_cast<char const*>(all.data()), all.size()));
}

base::Expected<Checkpoint> load_checkpoint(std::string const& path, std::string const& model,
                                           size_t weights) {
  auto const file = base::MappedFile::open(path);
  if (!file) return base::fail_with(file);
  base::ByteReader reader(file->bytes());
  base::ByteSpan const magic = reader.get_bytes(kMagic.size());
  if (!reader.ok() || std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) {
    return base::fail(
        "{}: is not a checkpoint of this program, give --resume a file that --checkpoint wrote",
        path);
  }
  auto const checksum = reader.get<uint64_t>();
  base::ByteSpan const rest = file->bytes().subspan(reader.position());
  if (!reader.ok() || XXH3_64bits(rest.data(), rest.size()) != checksum) {
    return base::fail("{}: the checkpoint is damaged (checksum differs), resume from an older one",
                      path);
  }
  Checkpoint checkpoint;
  checkpoint.model = reader.get_string();
  checkpoint.step = reader.get<int64_t>();
  checkpoint.global_batch = reader.get<int64_t>();
  checkpoint.seed = reader.get<uint64_t>();
  auto const count = reader.get<uint64_t>();
  if (!reader.ok() || checkpoint.step < 0 || count != reader.remaining() / sizeof(float) ||
      reader.remaining() % sizeof(float) != 0) {
    return base::fail("{}: the checkpoint's parts do not fit together, resume from an older one",
                      path);
  }
  if (checkpoint.model != model || count != weights) {
    return base::fail(
        "{}: was written by {} with {} weights and cannot continue {} with {}, choose its own "
        "checkpoint",
        path, checkpoint.model, count, model, weights);
  }
  checkpoint.weights.resize(count);
  std::memcpy(checkpoint.weights.data(), reader.get_bytes(count * sizeof(float)).data(),
              count * sizeof(float));
  if (file->is_cut()) return base::became_shorter(path);
  return checkpoint;
}

base::Expected<Checkpoint> resume_checkpoint(std::string const& path, Checkpoint const& fresh,
                                             int64_t steps, std::string const& sample) {
  auto start = load_checkpoint(path, fresh.model, fresh.weights.size());
  if (!start) return start;
  if (start->global_batch != fresh.global_batch || start->seed != fresh.seed) {
    return base::fail(
        "{}: was trained with {} {}s a step and --seed {}, not {} and {}: the samples would not go "
        "on where they stopped",
        path, start->global_batch, sample, start->seed, fresh.global_batch, fresh.seed);
  }
  if (start->step >= steps)
    return base::fail("{}: is already at step {}, give a larger --steps", path, start->step);
  return start;
}

}  // namespace stepscope::workloads
