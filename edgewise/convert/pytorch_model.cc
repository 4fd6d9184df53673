// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/pytorch_model.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/utf8.h"
#include "edgewise/convert/state_dict.h"
#include "edgewise/convert/zip_archive.h"

namespace edgewise {
namespace {

// The first bytes of the format before PyTorch 1.6: a pickle of the number 0x1950A86A20F9469CFC6C.
constexpr std::string_view kLegacyMagic = "\x80\x02\x8A\x0Al\xFC\x9C\x46\xF9\x20j\xA8P\x19.";

void check_not_legacy(std::string_view first_bytes, const std::string& where) {
  check(!first_bytes.starts_with(kLegacyMagic),
        "{} has the format of PyTorch before 1.6, needs a zip archive; convert it with PyTorch: "
        "torch.save(torch.load(file, weights_only=True), file)",
        where);
}

class PytorchArchive {
 public:
  PytorchArchive(const ZipArchive& archive, const std::string& where) : archive_(archive), where_(where) {}

  StoredTensors read() {
    find_folder();
    for (const ZipEntry& entry : archive_.entries()) check_entry(entry.name);
    check_byte_order();
    const std::string pickle = archive_.read(find("data.pkl"));
    return read_state_dict(pickle, fmt::format("{}: data.pkl", where_),
                           [this](std::string_view key) { return archive_.read(find(fmt::format("data/{}", key))); });
  }

 private:
  // All entries are in one folder, whose name torch.save takes from the file's name.
  void find_folder() {
    const auto& entries = archive_.entries();
    check(!entries.empty(), "{} has no entries, needs a file of torch.save", where_);
    folder_ = entries.front().name.substr(0, entries.front().name.find('/') + 1);
  }

  void check_entry(std::string_view name) const {
    check(!folder_.empty() && name.starts_with(folder_),
          "{} has an entry {}, needs all in one folder, as torch.save does", where_, quote(name));
    const std::string_view file = name.substr(folder_.size());
    check(file != "constants.pkl" && !file.starts_with("code/"),
          "{} is a TorchScript program, needs a state dict; save it with torch.save(model.state_dict(), file)", where_);
    const bool is_known = file == "data.pkl" || file == "byteorder" || file == "version" || file.starts_with("data/") ||
                          file.starts_with('.');
    check(is_known, "{} has an entry {}, needs only those of a state dict", where_, quote(name));
  }

  void check_byte_order() const {
    const ZipEntry* entry = archive_.find(folder_ + "byteorder");
    if (entry == nullptr) return;
    const std::string order = archive_.read(*entry);
    check(order == "little", "{} has the byte order {}, needs \"little\"; save it again on a little-endian machine",
          where_, quote(order));
  }

  const ZipEntry& find(std::string_view file) const {
    const ZipEntry* entry = archive_.find(folder_ + std::string(file));
    check(entry != nullptr, "{} has no entry {}, needs one", where_, quote(folder_ + std::string(file)));
    return *entry;
  }

  const ZipArchive& archive_;
  const std::string& where_;
  std::string folder_;
};

}  // namespace

StoredTensors read_pytorch_model(const std::filesystem::path& path, std::string_view caller) {
  const std::string where = fmt::format("{}: {}", caller, path.string());
  RegularFile file(path, caller);
  check_not_legacy(file.read_range(0, kLegacyMagic.size()), where);
  const ZipArchive archive = ZipArchive::open(std::move(file), where);
  return PytorchArchive(archive, where).read();
}

StoredTensors parse_pytorch_model(std::string bytes, std::string_view name) {
  const std::string where = fmt::format("read_pytorch_model: {}", name);
  check_not_legacy(bytes, where);
  const ZipArchive archive = ZipArchive::parse(std::move(bytes), where);
  return PytorchArchive(archive, where).read();
}

}  // namespace edgewise
