// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/event_file.h"

#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>

#include "edgewise/base/error.h"
#include "edgewise/base/files/file_descriptor.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/regular_file.h"
#include "edgewise/train/crc32c.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEventPrefix = "events.out.tfevents.";
constexpr std::string_view kLogTag = "train/";  // the events of TensorBoard::on_log begin with it
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

/// Whether an event of an earlier process belongs to the steps before `start`. The events of a step have the order log,
/// validation. Those that were not due follow the others, so that the events to keep are the first ones of a file.
bool is_kept(std::string_view event, const StartReport& start) {
  const std::int64_t step = step_of_event(event);
  const std::string tag = first_tag_of_event(event);
  if (tag.empty()) return step <= start.step + 1;  // the event of an earlier restart
  if (step != start.step) return step < start.step;
  return tag.starts_with(kLogTag) ? start.is_logged : start.validated_step == step;
}

/// Returns the number of bytes before the first event that is not kept.
std::size_t kept_size(std::string_view file, const StartReport& start) {
  std::size_t size = 0;
  for (std::size_t record = record_size(file); record > 0; record = record_size(file.substr(size))) {
    if (!is_kept(file.substr(size + kHead, record - kHead - kTail), start)) break;
    size += record;
  }
  return size;
}

fs::path file_name(std::int64_t step) { return fmt::format("{}{:012}", kEventPrefix, step); }

void remove_file(const fs::path& path) {
  const int error = file_system().remove(path) == 0 ? 0 : errno;
  check(error == 0, "train: {}: {}", path.string(), error_text(error));
}

/// Removes the events of a file that are not kept.
void cut_file(const fs::path& path, const StartReport& start) {
  const std::string events = RegularFile(path, "train", SymbolicLinks::kRefused).read(kMaxRecordBytes);
  const std::size_t size = kept_size(events, start);
  if (size < events.size()) AppendedFile(path, size).sync();
}

void cut_files(const fs::path& run, const StartReport& start) {
  std::error_code list_error;
  for (const fs::directory_entry& entry : fs::directory_iterator(run, list_error)) {
    const fs::path& path = entry.path();
    if (!path.filename().string().starts_with(kEventPrefix)) continue;
    const bool is_later = path.filename() > file_name(start.step);
    is_later ? remove_file(path) : cut_file(path, start);
  }
}

AppendedFile open_file(const fs::path& run, const StartReport& start) {
  cut_files(run, start);
  return AppendedFile(run / file_name(start.step));
}

/// Returns the first step whose events a running TensorBoard has to discard. It keeps a step of which some events
/// count.
std::int64_t first_discarded_step(const StartReport& start) {
  const bool has_kept_events = start.is_logged || start.validated_step == start.step;
  return has_kept_events ? start.step + 1 : start.step;
}

}  // namespace

EventFile::EventFile(const fs::path& run, const StartReport& start) : file_(open_file(run, start)) {
  const bool is_new = file_.size() == 0;  // an earlier process may have ended at the step at which it had begun
  if (is_new) file_.append(make_record(version_event(seconds_since_1970())));
  if (start.step > 0) file_.append(make_record(restart_event(seconds_since_1970(), first_discarded_step(start))));
}

void EventFile::append(std::int64_t step, const EventSummary& summary) {
  file_.append(make_record(summary_event(seconds_since_1970(), step, summary)));
}

}  // namespace edgewise
