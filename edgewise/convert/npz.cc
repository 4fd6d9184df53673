// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/npz.h"

#include <utility>

#include "edgewise/base/utf8.h"
#include "edgewise/convert/npy.h"
#include "edgewise/convert/zip_archive.h"

namespace edgewise {
namespace {

constexpr std::string_view kNpyEnding = ".npy";

StoredTensors read_arrays(const ZipArchive& archive, const std::string& where) {
  StoredTensors tensors;
  for (const ZipEntry& entry : archive.entries()) {
    const std::string_view name = entry.name;
    check(name.ends_with(kNpyEnding) && name.size() > kNpyEnding.size(),
          "{} has an entry {}, needs only files that end with {}", where, quote(name), kNpyEnding);
    parse_npy(archive.read(entry), name.substr(0, name.size() - kNpyEnding.size()),
              fmt::format("{}: entry {}", where, quote(name)), tensors);
  }
  return tensors;
}

}  // namespace

StoredTensors read_npz(const std::filesystem::path& path, std::string_view caller) {
  const std::string where = fmt::format("{}: {}", caller, path.string());
  return read_arrays(ZipArchive::open(RegularFile(path, caller), where), where);
}

StoredTensors parse_npz(std::string bytes, std::string_view name) {
  const std::string where = fmt::format("read_npz: {}", name);
  return read_arrays(ZipArchive::parse(std::move(bytes), where), where);
}

std::string serialize_npz(std::span<const TensorInfo> tensors) {
  std::vector<std::string> files;
  std::vector<ZipContent> entries;
  files.reserve(tensors.size());
  for (const TensorInfo& tensor : tensors) {
    files.push_back(serialize_npy(tensor));
    entries.push_back({tensor.name + std::string(kNpyEnding), files.back()});
  }
  return serialize_zip(entries, "serialize_npz");
}

}  // namespace edgewise
