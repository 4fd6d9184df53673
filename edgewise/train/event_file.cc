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
constexpr std::size_t kHead = 12;  // bytes of a record before the event: the length in 8 bytes, and its checksum
constexpr std::size_t kTail = 4;   // bytes of a record after the event: the checksum of the event

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Returns the masked CRC-32C of TFRecord: a plain CRC detects errors poorly in bytes that contain a CRC.
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

std::string make_record(std::string_view event) {
  std::string record;
  append_number(record, std::uint64_t{event.size()});
  append_number(record, masked_crc(record));
  record += event;
  append_number(record, masked_crc(event));
  return record;
}

/// Returns the size of the record at the start of `bytes`; 0 for a truncated or damaged record.
std::size_t record_size(std::string_view bytes) {
  if (bytes.size() < kHead + kTail || number_at(bytes.substr(8), 4) != masked_crc(bytes.substr(0, 8))) return 0;
  const std::uint64_t size = number_at(bytes, 8);
  if (size > bytes.size() - kHead - kTail) return 0;
  const std::string_view event = bytes.substr(kHead, size);
  return number_at(bytes.substr(kHead + size), kTail) == masked_crc(event) ? kHead + size + kTail : 0;
}

/// Returns the number of bytes before the first event after `last_step`.
std::size_t size_up_to(std::int64_t last_step, std::string_view file) {
  std::size_t size = 0;
  for (std::size_t record = record_size(file); record > 0; record = record_size(file.substr(size))) {
    if (step_of_event(file.substr(size + kHead, record - kHead - kTail)) > last_step) break;
    size += record;
  }
  return size;
}

fs::path file_name(std::int64_t step) { return fmt::format("{}{:012}", kEventPrefix, step); }

void cut_files_after(const fs::path& run, std::int64_t last_step) {
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    const fs::path& path = entry.path();
    if (!path.filename().string().starts_with(kEventPrefix)) continue;
    std::error_code error;
    if (path.filename() >= file_name(last_step)) {  // the whole file is later than the step
      fs::remove(path, error);
    } else {
      fs::resize_file(path, size_up_to(last_step, read_file(path, "train", kMaxRecordBytes)), error);
    }
    check(!error, "train: {}: {}", path.string(), error.message());
  }
}

int open_file(const fs::path& run, std::int64_t step) {
  cut_files_after(run, step);
  const fs::path path = run / file_name(step);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666);
  check(file >= 0, "train: {}: {}", path.string(), error_text(errno));
  return file;
}

}  // namespace

EventFile::EventFile(const fs::path& run, std::int64_t step) : file_(open_file(run, step)) {
  write(version_event(seconds_since_1970()));
  if (step > 0) write(restart_event(seconds_since_1970(), step + 1));
}

void EventFile::append(std::int64_t step, const EventSummary& summary) {
  write(summary_event(seconds_since_1970(), step, summary));
}

void EventFile::write(std::string_view event) {
  pending_ += make_record(event);
  if (write_all(file_, pending_) != 0) {
    // Removes a partial event. If the removal fails too, readers stop at the partial event.
    [[maybe_unused]] const int result = ::ftruncate(file_.number(), static_cast<off_t>(size_));
    return;
  }
  size_ += pending_.size();
  pending_.clear();
}

}  // namespace edgewise
