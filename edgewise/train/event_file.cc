// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

#include "edgewise/base/crc32c.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEventPrefix = "events.out.tfevents.";
constexpr std::size_t kHead = 12;  // of a record: a length of 8 bytes and its checksum
constexpr std::size_t kTail = 4;

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// TFRecord's checksums: turned, since a checksum over bytes that hold one is no good one.
std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

template <typename Number>
void append_number(std::string& to, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) to += static_cast<char>(value >> (8 * i) & 0xFF);
}

std::uint64_t number_at(std::string_view bytes, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

std::string record_of(std::string_view event) {
  std::string record;
  append_number(record, std::uint64_t{event.size()});
  append_number(record, masked_crc(record));
  record += event;
  append_number(record, masked_crc(event));
  return record;
}

/// How many bytes the record at the beginning takes; 0 for one that is torn or damaged.
std::size_t size_of_record(std::string_view bytes) {
  if (bytes.size() < kHead + kTail || number_at(bytes.substr(8), 4) != masked_crc(bytes.substr(0, 8))) return 0;
  const std::uint64_t size = number_at(bytes, 8);
  if (size > bytes.size() - kHead - kTail) return 0;
  const std::string_view event = bytes.substr(kHead, size);
  return number_at(bytes.substr(kHead + size), kTail) == masked_crc(event) ? kHead + size + kTail : 0;
}

/// Bytes of the events up to a step.
std::size_t size_up_to(std::int64_t last_step, std::string_view file) {
  std::size_t size = 0;
  for (std::size_t record = size_of_record(file); record > 0; record = size_of_record(file.substr(size))) {
    if (step_of_event(file.substr(size + kHead, record - kHead - kTail)) > last_step) break;
    size += record;
  }
  return size;
}

fs::path name_of(std::int64_t step) { return fmt::format("{}{:012}", kEventPrefix, step); }

void cut_older_files(const fs::path& run, std::int64_t last_step) {
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    const fs::path& path = entry.path();
    if (!path.filename().string().starts_with(kEventPrefix)) continue;
    std::error_code error;
    if (path.filename() >= name_of(last_step)) {  // all of it is behind the step
      fs::remove(path, error);
    } else {
      fs::resize_file(path, size_up_to(last_step, read_file(path, "train")), error);
    }
    check(!error, "train: {}: {}", path.string(), error.message());
  }
}

int open_new(const fs::path& run, std::int64_t step) {
  cut_older_files(run, step);
  const fs::path path = run / name_of(step);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  check(file >= 0, "train: {}: {}", path.string(), error_text(errno));
  return file;
}

}  // namespace

EventFile::EventFile(const fs::path& run, std::int64_t step) : file_(open_new(run, step)) {
  write(version_event(now()));
  if (step > 0) write(restart_event(now(), step + 1));
}

void EventFile::append(std::int64_t step, const EventSummary& summary) { write(summary_event(now(), step, summary)); }

void EventFile::write(std::string_view event) {
  waiting_ += record_of(event);
  if (write_all(file_, waiting_) != 0) {
    // Half an event is worse than none. Where not even that works, a reader stops at the torn one.
    [[maybe_unused]] const int result = ::ftruncate(file_.number(), static_cast<off_t>(size_));
    return;
  }
  size_ += waiting_.size();
  waiting_.clear();
}

}  // namespace edgewise
