// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/zip_archive.h"

#include <zip.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <utility>

#include "edgewise/base/checked.h"
#include "edgewise/base/error.h"
#include "edgewise/base/memory.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::uint64_t kMaxEntries = 200'000;
constexpr std::uint64_t kMaxUnpackedRatio = 64;  // size of the unpacked entries, in sizes of the archive
constexpr std::uint64_t kReadBytes = 1 << 20;    // in one call

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

/// The archive in libzip, which reads its bytes by callbacks. An exception must not pass through libzip's functions, so
/// that it is kept.
struct ZipArchive::Opened {
  Opened() = default;
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    if (archive != nullptr) zip_discard(archive);
  }

  void open(const std::string& where) {
    check(size > 0, "{} has 0 bytes, needs a zip archive; copy it again", where);
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_function_create(&serve, this, &error);
    if (source != nullptr) archive = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
    if (archive != nullptr) return;
    const std::string text = zip_error_strerror(&error);
    const bool has_twins = zip_error_code_zip(&error) == ZIP_ER_EXISTS;
    zip_error_fini(&error);
    if (source != nullptr) zip_source_free(source);
    check(!has_twins, "{} has two entries of one name, needs a name for each", where);
    fail_to_read(fmt::format("{} is no zip archive or damaged ({})", where, text));
  }

  // Throws the exception of the bytes' reader if there was one.
  [[noreturn]] void fail_to_read(const std::string& message) {
    if (exception) std::rethrow_exception(std::exchange(exception, nullptr));
    fail("{}, needs an undamaged one; copy it again", message);
  }

  zip_int64_t read_into(void* data, std::uint64_t length) {
    try {
      const std::string part = read(position, position + std::min(length, size - position));
      if (!part.empty()) std::memcpy(data, part.data(), part.size());
      position += part.size();
      return static_cast<zip_int64_t>(part.size());
    } catch (...) {
      exception = std::current_exception();
      zip_error_set(&read_error, ZIP_ER_READ, 0);
      return -1;
    }
  }

  // The callback of libzip for a source of bytes.
  static zip_int64_t serve(void* state, void* data, zip_uint64_t length, zip_source_cmd_t command) {
    Opened& opened = *static_cast<Opened*>(state);
    switch (command) {
      case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_SEEKABLE;
      case ZIP_SOURCE_OPEN:
        opened.position = 0;
        return 0;
      case ZIP_SOURCE_READ:
        return opened.read_into(data, length);
      case ZIP_SOURCE_SEEK: {
        const zip_int64_t moved_to =
            zip_source_seek_compute_offset(opened.position, opened.size, data, length, &opened.read_error);
        if (moved_to < 0) return -1;
        opened.position = static_cast<std::uint64_t>(moved_to);
        return 0;
      }
      case ZIP_SOURCE_TELL:
        return static_cast<zip_int64_t>(opened.position);
      case ZIP_SOURCE_STAT: {
        auto* stat = static_cast<zip_stat_t*>(data);
        zip_stat_init(stat);
        stat->size = opened.size;
        stat->valid |= ZIP_STAT_SIZE;
        return sizeof(zip_stat_t);
      }
      case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&opened.read_error, data, length);
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_FREE:
        return 0;
      default:
        zip_error_set(&opened.read_error, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
  }

  std::function<std::string(std::uint64_t begin, std::uint64_t end)> read;  // reads the archive's bytes
  std::uint64_t size = 0;
  std::uint64_t position = 0;
  std::exception_ptr exception;
  zip_error_t read_error{};
  zip_t* archive = nullptr;
};

ZipArchive ZipArchive::open(RegularFile file, std::string where) {
  auto opened = std::make_unique<Opened>();
  opened->size = file.size();
  const auto shared = std::make_shared<const RegularFile>(std::move(file));
  opened->read = [shared](std::uint64_t begin, std::uint64_t end) { return shared->read_range(begin, end); };
  return {std::move(opened), std::move(where)};
}

ZipArchive ZipArchive::parse(std::string bytes, std::string where) {
  auto opened = std::make_unique<Opened>();
  opened->size = bytes.size();
  opened->read = [kept = std::move(bytes)](std::uint64_t begin, std::uint64_t end) {
    return kept.substr(begin, end - begin);
  };
  return {std::move(opened), std::move(where)};
}

ZipArchive::ZipArchive(std::unique_ptr<Opened> opened, std::string where)
    : opened_(std::move(opened)), where_(std::move(where)) {
  opened_->open(where_);
  const auto num_entries = static_cast<std::uint64_t>(zip_get_num_entries(opened_->archive, 0));
  check(num_entries <= kMaxEntries, "{} has {} entries, needs at most {}", where_, num_entries, kMaxEntries);
  entries_.reserve(num_entries);
  for (std::uint64_t index = 0; index < num_entries; ++index) add_entry(index);
  for (const ZipEntry& entry : entries_) index_of_.emplace(entry.name, index_of_.size());
  check_entries();
}

ZipArchive::ZipArchive(ZipArchive&&) noexcept = default;
ZipArchive& ZipArchive::operator=(ZipArchive&&) noexcept = default;
ZipArchive::~ZipArchive() = default;

void ZipArchive::add_entry(std::uint64_t index) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  const char* name = zip_get_name(opened_->archive, index, ZIP_FL_ENC_RAW);
  if (name == nullptr || zip_stat_index(opened_->archive, index, 0, &stat) != 0) {
    opened_->fail_to_read(fmt::format("{} is damaged at entry {}", where_, index));
  }
  const std::string quoted = quote(name);
  check(*name != '\0' && !has_control_character(name), "{} has an entry {}, needs UTF-8 without control characters",
        where_, quoted);
  check(stat.encryption_method == ZIP_EM_NONE, "{}: entry {} is encrypted, needs plain bytes", where_, quoted);
  check(stat.comp_method == ZIP_CM_STORE || stat.comp_method == ZIP_CM_DEFLATE,
        "{}: entry {} is compressed by method {}, needs {} (stored) or {} (deflated)", where_, quoted, stat.comp_method,
        ZIP_CM_STORE, ZIP_CM_DEFLATE);
  entries_.push_back({name, stat.size});
}

void ZipArchive::check_entries() const {
  std::uint64_t total = 0;
  for (const ZipEntry& entry : entries_) {
    total = checked_add(total, entry.size, fmt::format("{}: the size of the entries", where_));
  }
  check(total / kMaxUnpackedRatio <= opened_->size, "{} has {} bytes, unpacked {}, needs at most {} times as many",
        where_, opened_->size, total, kMaxUnpackedRatio);
  require_memory(static_cast<double>(total), fmt::format("{}, unpacked,", where_), "use a machine with more memory");
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found = index_of_.find(name);
  return found == index_of_.end() ? nullptr : &entries_[found->second];
}

std::string ZipArchive::read(const ZipEntry& entry) const {
  const auto index = static_cast<std::uint64_t>(&entry - entries_.data());
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(zip_fopen_index(opened_->archive, index, 0), zip_fclose);
  std::string bytes;
  bool is_undamaged = file != nullptr;
  if (is_undamaged) {
    bytes.resize(entry.size);
    std::uint64_t size = 0;
    zip_int64_t count = 1;
    while (count > 0 && size < entry.size) {
      count = zip_fread(file.get(), bytes.data() + size, std::min(kReadBytes, entry.size - size));
      if (count > 0) size += static_cast<std::uint64_t>(count);
    }
    // libzip compares the checksum at the end, which is the next read.
    char more = 0;
    is_undamaged = size == entry.size && zip_fread(file.get(), &more, 1) == 0;
  }
  if (!is_undamaged) opened_->fail_to_read(fmt::format("{}: entry {} is damaged", where_, quote(entry.name)));
  return bytes;
}

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
