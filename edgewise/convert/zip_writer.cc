// SPDX-License-Identifier: Apache-2.0
#include <zip.h>

#include <memory>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/zip_archive.h"

namespace edgewise {
namespace {

// 1 January 1980, 12:00, in the form of MS-DOS, which counts years from 1980. At noon no time zone changes its clocks.
constexpr zip_uint16_t kEntryTime = 12 << 11;
constexpr zip_uint16_t kEntryDate = 1 << 5 | 1;

using ZipHandle = std::unique_ptr<zip_t, void (*)(zip_t*)>;
using SourceHandle = std::unique_ptr<zip_source_t, void (*)(zip_source_t*)>;

void add_stored(zip_t* archive, const ZipContent& entry, std::string_view function) {
  SourceHandle source(zip_source_buffer(archive, entry.bytes.data(), entry.bytes.size(), 0), zip_source_free);
  const zip_int64_t index =
      source == nullptr ? -1 : zip_file_add(archive, entry.name.c_str(), source.get(), ZIP_FL_ENC_UTF_8);
  check(index >= 0, "{}: {} cannot be added to the zip archive ({}), needs another name", function, quote(entry.name),
        zip_strerror(archive));
  static_cast<void>(source.release());  // `archive` owns the source now
  const auto number = static_cast<zip_uint64_t>(index);
  const bool is_set = zip_set_file_compression(archive, number, ZIP_CM_STORE, 0) == 0 &&
                      zip_file_set_dostime(archive, number, kEntryTime, kEntryDate, 0) == 0;
  check(is_set, "{}: {} cannot be stored in the zip archive ({}), needs to be", function, quote(entry.name),
        zip_strerror(archive));
}

std::string read_all(zip_source_t* source, std::string_view function) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  const bool is_open = zip_source_open(source) == 0 && zip_source_stat(source, &stat) == 0;
  std::string bytes(is_open ? stat.size : 0, '\0');
  const bool is_read =
      is_open && zip_source_read(source, bytes.data(), bytes.size()) == static_cast<zip_int64_t>(bytes.size());
  check(is_read, "{}: the zip archive cannot be read back, needs to be", function);
  zip_source_close(source);
  return bytes;
}

}  // namespace

std::string serialize_zip(std::span<const ZipContent> entries, std::string_view function) {
  check(!entries.empty(), "{}: the zip archive has no entries, needs one or more", function);
  const SourceHandle target(zip_source_buffer_create(nullptr, 0, 0, nullptr), zip_source_free);
  ZipHandle archive(target == nullptr ? nullptr : zip_open_from_source(target.get(), ZIP_TRUNCATE, nullptr),
                    zip_discard);
  check(archive != nullptr, "{}: the zip archive cannot be created, needs more memory", function);
  zip_source_keep(target.get());  // for `archive`, which frees the source too
  for (const ZipContent& entry : entries) add_stored(archive.get(), entry, function);
  check(zip_close(archive.get()) == 0, "{}: the zip archive cannot be written ({}), needs more memory", function,
        zip_strerror(archive.get()));
  static_cast<void>(archive.release());  // closed
  return read_all(target.get(), function);
}

}  // namespace edgewise
