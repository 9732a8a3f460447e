// Reader and writer of the MNIST files; see mnist_file.h.
#include "workloads/data/mnist_file.h"

#include <filesystem>

#include "trace/base/check.h"
#include "trace/base/files/mapped_file.h"

namespace stepscope::workloads {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kImagesMagic = 2051;  // 0x0803: bytes, three dimensions
constexpr uint32_t kLabelsMagic = 2049;  // 0x0801: bytes, one dimension

uint32_t big_endian(uint8_t const* at) {
  return uint32_t{at[0]} << 24U | uint32_t{at[1]} << 16U | uint32_t{at[2]} << 8U | uint32_t{at[3]};
}

void append_big_endian(std::string& out, uint32_t value) {
  for (uint32_t shift = 32; shift > 0; shift -= 8)
    out.push_back(static_cast<char>(value >> (shift - 8) & 0xFFU));
}

struct Kind {
  char const* what;
  uint32_t magic;
  size_t header;  ///< bytes
  size_t item;    ///< bytes
};
constexpr Kind kImages = {"images", kImagesMagic, 16, kMnistPixels};
constexpr Kind kLabels = {"labels", kLabelsMagic, 8, 1};

base::Expected<void> check_header(std::string const& path, Kind const& kind,
                                  std::span<uint8_t const> bytes) {
  if (bytes.size() >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B)
    return base::fail("{}: is compressed, gunzip it first", path);

  if (bytes.size() < kind.header) {
    return base::fail("{}: {} bytes are too few for the header of {} bytes, get the file again",
                      path, bytes.size(), kind.header);
  }
  if (uint32_t const magic = big_endian(bytes.data()); magic != kind.magic) {
    return base::fail("{}: begins with {}, not {}: no MNIST {} in IDX format, get the file again",
                      path, magic, kind.magic, kind.what);
  }

  if (kind.item > 1) {
    uint32_t const rows = big_endian(bytes.data() + 8), columns = big_endian(bytes.data() + 12);
    if (rows != kMnistSide || columns != kMnistSide) {
      return base::fail("{}: images of {} x {} pixels, the network takes {} x {}", path, rows,
                        columns, kMnistSide, kMnistSide);
    }
  }

  uint32_t const count = big_endian(bytes.data() + 4);
  if (count == 0) return base::fail("{}: holds no {}, get the file again", path, kind.what);
  if (size_t const expected = kind.header + count * kind.item; bytes.size() != expected) {
    return base::fail("{}: {} {} are {} bytes, the file has {}, get it again", path, count,
                      kind.what, expected, bytes.size());
  }
  return {};
}

/// The content behind the header.
base::Expected<std::vector<uint8_t>> read_idx(std::string const& path, Kind const& kind) {
  base::Expected<base::MappedFile> const file = base::MappedFile::open(path);
  if (!file)
    return base::fail("{}; --data takes the folder with MNIST's four unpacked files",
                      file.error().message);

  std::span const bytes(reinterpret_cast<uint8_t const*>(file->bytes().data()),
                        file->bytes().size());
  if (auto checked = check_header(path, kind, bytes); !checked) return base::fail_with(checked);

  auto const content = bytes.subspan(kind.header);
  std::vector<uint8_t> copied(content.begin(), content.end());
  if (file->is_cut()) return base::became_shorter(path);
  return copied;
}

/// "train-images-idx3-ubyte" or, as some unpackers name it, "train-images.idx3-ubyte".
base::Expected<std::string> find_file(fs::path const& folder, std::string const& name) {
  std::string dotted = name;
  dotted[dotted.rfind("-idx")] = '.';

  std::error_code ignored;

  for (std::string const& candidate : {name, dotted}) {
    if (fs::exists(folder / candidate, ignored)) return (folder / candidate).string();
  }
  for (std::string const& candidate : {name, dotted}) {
    if (fs::path const packed = folder / (candidate + ".gz"); fs::exists(packed, ignored)) {
      return base::fail("{}: is compressed, gunzip it first", packed.string());
    }
  }

  return base::fail("{}: no such file; --data takes the folder with MNIST's four unpacked files",
                    (folder / name).string());
}

base::Expected<MnistImages> read_part(fs::path const& folder, MnistNames const& names) {
  auto const images_path = find_file(folder, names.images);
  if (!images_path) return base::fail_with(images_path);
  auto const labels_path = find_file(folder, names.labels);
  if (!labels_path) return base::fail_with(labels_path);

  auto pixels = read_mnist_images(*images_path);
  if (!pixels) return base::fail_with(pixels);
  auto labels = read_mnist_labels(*labels_path);
  if (!labels) return base::fail_with(labels);

  if (size_t const images = pixels->size() / kMnistPixels; images != labels->size()) {
    return base::fail("{}: {} labels for the {} images of {}, get both files again", *labels_path,
                      labels->size(), images, *images_path);
  }

  return MnistImages{std::move(*pixels), std::move(*labels)};
}

}  // namespace

base::Expected<std::vector<uint8_t>> read_mnist_images(std::string const& path) {
  return read_idx(path, kImages);
}

base::Expected<std::vector<uint8_t>> read_mnist_labels(std::string const& path) {
  auto labels = read_idx(path, kLabels);
  if (!labels) return labels;
  for (size_t i = 0; i < labels->size(); ++i) {
    if ((*labels)[i] >= kMnistClasses) {
      return base::fail("{}: label {} is {}, above 9, this is not MNIST (EMNIST has letters)", path,
                        i, (*labels)[i]);
    }
  }
  return labels;
}

base::Expected<MnistDataSet> read_mnist_folder(std::string const& folder) {
  std::error_code ignored;
  fs::path const inner = fs::path(folder) / "MNIST" / "raw";
  fs::path const base = fs::is_directory(inner, ignored) ? inner : fs::path(folder);
  auto train = read_part(base, kMnistTrain);
  if (!train) return base::fail_with(train);
  auto test = read_part(base, kMnistTest);
  if (!test) return base::fail_with(test);
  return MnistDataSet{std::move(*train), std::move(*test)};
}

std::string encode_mnist_images(MnistImages const& images) {
  std::string out;
  append_big_endian(out, kImagesMagic);
  append_big_endian(out, static_cast<uint32_t>(images.size()));
  append_big_endian(out, kMnistSide);
  append_big_endian(out, kMnistSide);
  STEPSCOPE_CHECK(images.pixels.size() == images.size() * kMnistPixels);
  return out.append(images.pixels.begin(), images.pixels.end());
}

std::string encode_mnist_labels(MnistImages const& images) {
  std::string out;
  append_big_endian(out, kLabelsMagic);
  append_big_endian(out, static_cast<uint32_t>(images.size()));
  return out.append(images.labels.begin(), images.labels.end());
}

}  // namespace stepscope::workloads
