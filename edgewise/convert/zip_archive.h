// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edgewise/base/files/files.h"

namespace edgewise {

struct ZipEntry {
  std::string name;
  std::uint64_t size = 0;  // bytes, when unpacked
};

/// A zip archive whose entries are stored or deflated, for example a file of NumPy or PyTorch. Throws Error for a
/// damaged archive, names that occur twice or are not UTF-8, encrypted entries, other compression, and more than 200
/// 000 entries. Unpacked, all entries together may have at most 64 times the size of the archive, and must fit into the
/// available memory; a larger archive is refused before an entry is unpacked.
class ZipArchive {
 public:
  /// Lists the entries of a file, which stays open. Errors begin with `where`: "read_npz: model.npz".
  static ZipArchive open(RegularFile file, std::string where);

  /// Lists the entries of an archive in memory.
  static ZipArchive parse(std::string bytes, std::string where);

  ZipArchive(ZipArchive&&) noexcept;
  ZipArchive& operator=(ZipArchive&&) noexcept;
  ~ZipArchive();

  /// Returns the entries in the order of the archive.
  std::span<const ZipEntry> entries() const { return entries_; }

  /// Returns null if no entry has the name.
  const ZipEntry* find(std::string_view name) const;

  /// Reads an entry of entries(), and checks its checksum.
  std::string read(const ZipEntry& entry) const;

 private:
  struct Opened;

  ZipArchive(std::unique_ptr<Opened> opened, std::string where);
  void add_entry(std::uint64_t index);
  void check_entries() const;

  std::unique_ptr<Opened> opened_;
  std::string where_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string_view, std::size_t> index_of_;
};

struct ZipContent {
  std::string name;
  std::string_view bytes;
};

/// Returns an archive whose entries are stored without compression. Equal entries give equal bytes: each entry has the
/// time of 1 January 1980. Throws Error, beginning with `function`, for no entries and for two entries of one name.
std::string serialize_zip(std::span<const ZipContent> entries, std::string_view function);

}  // namespace edgewise
