// Reader of the CIFAR-10 binary files; see cifar10_file.h.
#include "workloads/data/cifar10_file.h"

#include <filesystem>

#include "trace/base/files/mapped_file.h"

namespace stepscope::workloads {

std::vector<std::string> cifar_train_files() {
  std::vector<std::string> names;
  for (int i = 1; i <= 5; ++i) names.push_back(fmt::format("data_batch_{}.bin", i));
  return names;
}

base::Expected<void> read_cifar_file(std::string const& path, CifarImages& images) {
  base::Expected<base::MappedFile> const file = base::MappedFile::open(path);
  if (!file)
    return base::fail("{}; --data takes the folder with CIFAR-10's binary version",
                      file.error().message);

  base::ByteSpan const bytes = file->bytes();
  if (bytes.empty() || bytes.size() % kCifarRecord != 0) {
    return base::fail(
        "{}: {} bytes are not a whole number of {}-byte records ({} bytes left over), get the file "
        "again",
        path, bytes.size(), kCifarRecord, bytes.size() % kCifarRecord);
  }

  auto const* const data = reinterpret_cast<uint8_t const*>(bytes.data());
  for (size_t offset = 0; offset < bytes.size(); offset += kCifarRecord) {
    if (data[offset] >= kCifarClasses) {
      return base::fail(
          "{}: record {}: label {} is above 9, this is no CIFAR-10 file (CIFAR-100 has two label "
          "bytes)",
          path, offset / kCifarRecord, data[offset]);
    }
  }

  images.records.insert(images.records.end(), data, data + bytes.size());
  if (file->is_cut()) return base::became_shorter(path);
  return {};
}

base::Expected<CifarDataSet> read_cifar_folder(std::string const& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path const inner =
      fs::path(folder) / "cifar-10-batches-bin";  // as the official archive unpacks
  fs::path const base = fs::exists(inner / kCifarTestFile, ignored) ? inner : fs::path(folder);

  CifarDataSet data;
  for (std::string const& name : cifar_train_files()) {
    if (auto read = read_cifar_file(base / name, data.train); !read) return base::fail_with(read);
  }
  if (auto read = read_cifar_file(base / kCifarTestFile, data.test); !read)
    return base::fail_with(read);

  return data;
}

}  // namespace stepscope::workloads
