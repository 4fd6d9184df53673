// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/event_file.h"

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <span>
#include <system_error>

#include "edgewise/base/error.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/protobuf_walk.h"

namespace edgewise {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // bit-reversed: the lowest bit is the highest power

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    table[byte] = value;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

using Wire = WireField::Type;

// Fields of Event, Summary and Summary.Value.
constexpr std::uint32_t kStepField = 2;
constexpr std::uint32_t kSummaryField = 5;
constexpr std::uint32_t kValueField = 1;
constexpr std::uint32_t kTagField = 1;

template <typename Number>
void append_number(std::string& to, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) to += static_cast<char>(value >> (8 * i) & 0xFF);
}

/// Serialises a message field by field.
class EventMessage {
 public:
  EventMessage& add_integer(std::uint32_t field, std::uint64_t value) {
    append_key(field, Wire::kVarint);
    append_varint(value);
    return *this;
  }
  EventMessage& add_real(std::uint32_t field, double value) {
    append_key(field, Wire::kFixed64);
    append_number(text_, std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  EventMessage& add_real(std::uint32_t field, float value) {
    append_key(field, Wire::kFixed32);
    append_number(text_, std::bit_cast<std::uint32_t>(value));
    return *this;
  }
  EventMessage& add_bytes(std::uint32_t field, std::string_view value) {
    append_key(field, Wire::kBytes);
    append_varint(value.size());
    text_ += value;
    return *this;
  }
  EventMessage& add_reals(std::uint32_t field, std::span<const double> values) {
    std::string packed;
    for (const double value : values) append_number(packed, std::bit_cast<std::uint64_t>(value));
    return add_bytes(field, packed);
  }

  const std::string& text() const { return text_; }

 private:
  void append_key(std::uint32_t field, Wire type) { append_varint(field << 3 | static_cast<std::uint32_t>(type)); }

  void append_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(0x80 | (value & 0x7F));
    text_ += static_cast<char>(value);
  }

  std::string text_;
};

/// Begins an event of the present time.
EventMessage begin_event() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return EventMessage().add_real(1, std::chrono::duration<double>(now).count());
}

/// Returns the event that makes TensorBoard discard all earlier events of `first_step` and later steps.
std::string restart_event(std::int64_t first_step) {
  constexpr std::uint64_t kStart = 1;
  const EventMessage session = EventMessage().add_integer(1, kStart);
  return begin_event()
      .add_integer(kStepField, static_cast<std::uint64_t>(first_step))
      .add_bytes(7, session.text())
      .text();
}

/// Returns the step of an event, 0 for an event without a step. Throws Error for bytes that are not an event.
std::int64_t step_of_event(std::string_view event) {
  std::uint64_t step = 0;
  walk_message(event, "step_of_event", [&step](const WireField& field) {
    if (field.number == kStepField && field.type == WireField::Type::kVarint) step = field.value;
  });
  return static_cast<std::int64_t>(step);
}

/// Returns the tag of the first value of an event, "" for an event without values. Throws Error as step_of_event does.
std::string_view first_tag_of_event(std::string_view event) {
  const auto first = [](std::string_view message, std::uint32_t number) {
    std::string_view found;
    walk_message(message, "first_tag_of_event", [&](const WireField& field) {
      if (field.number == number && field.type == WireField::Type::kBytes && found.empty()) found = field.bytes;
    });
    return found;
  };
  return first(first(first(event, kSummaryField), kValueField), kTagField);
}

namespace fs = std::filesystem;

constexpr std::string_view kEventPrefix = "events.out.tfevents.";
constexpr std::string_view kLogTag = "train/";  // the events of TensorBoard::on_log begin with it
constexpr std::size_t kHead = 12;  // bytes of a record before the event: the length in 8 bytes, and its checksum
constexpr std::size_t kTail = 4;   // bytes of a record after the event: the checksum of the event

/// Returns the masked CRC-32C of TFRecord: a plain CRC detects errors poorly in bytes that contain a CRC.
std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
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
  const std::string_view tag = first_tag_of_event(event);
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

/// Opens the file of the events after the start, and removes the events of all files that are not kept.
AppendedFile open_file(const fs::path& run, const StartReport& start) {
  std::error_code list_error;
  for (const fs::directory_entry& entry : fs::directory_iterator(run, list_error)) {
    const fs::path& path = entry.path();
    if (!path.filename().string().starts_with(kEventPrefix)) continue;
    const bool is_later = path.filename() > file_name(start.step);
    if (is_later) {
      remove_file(path);
    } else {
      cut_file(path, start);
    }
  }
  return AppendedFile(run / file_name(start.step));
}

/// Returns the first step whose events a running TensorBoard has to discard. It keeps a step if some of its
/// events count.
std::int64_t first_discarded_step(const StartReport& start) {
  const bool has_kept_events = start.is_logged || start.validated_step == start.step;
  return has_kept_events ? start.step + 1 : start.step;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t value = ~std::uint32_t{0};
  for (const char byte : bytes) value = (value >> 8) ^ kTable[(value ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~value;
}

void EventSummary::add_value(std::string_view value) { values_ += EventMessage().add_bytes(kValueField, value).text(); }

void EventSummary::add_scalar(std::string_view tag, double value) {
  add_value(EventMessage().add_bytes(1, tag).add_real(2, static_cast<float>(value)).text());
}

void EventSummary::add_histogram(std::string_view tag, const Histogram& histogram) {
  const EventMessage values = EventMessage()
                                  .add_real(1, histogram.lowest)
                                  .add_real(2, histogram.highest)
                                  .add_real(3, histogram.count)
                                  .add_real(4, histogram.sum)
                                  .add_real(5, histogram.sum_of_squares)
                                  .add_reals(6, histogram.limits)
                                  .add_reals(7, histogram.counts);
  add_value(EventMessage().add_bytes(1, tag).add_bytes(5, values.text()).text());
}

/// A text is a tensor of one string, which the metadata assign to the text plug-in.
void EventSummary::add_text(std::string_view tag, std::string_view markdown) {
  constexpr std::uint64_t kString = 7;  // DT_STRING
  const EventMessage plugin = EventMessage().add_bytes(1, "text");
  const EventMessage dimension = EventMessage().add_integer(1, 1);
  const EventMessage shape = EventMessage().add_bytes(2, dimension.text());
  const EventMessage tensor = EventMessage().add_integer(1, kString).add_bytes(2, shape.text()).add_bytes(8, markdown);
  const EventMessage metadata = EventMessage().add_bytes(1, plugin.text());
  add_value(EventMessage().add_bytes(1, tag).add_bytes(8, tensor.text()).add_bytes(9, metadata.text()).text());
}

EventFile::EventFile(const fs::path& run, const StartReport& start) : file_(open_file(run, start)) {
  const bool is_new = file_.size() == 0;  // an earlier process may have ended at the step at which it had begun
  if (is_new) file_.append(make_record(begin_event().add_bytes(3, "brain.Event:2").text()));
  if (start.step > 0) file_.append(make_record(restart_event(first_discarded_step(start))));
}

void EventFile::append(std::int64_t step, const EventSummary& summary) {
  const EventMessage event = begin_event()
                                 .add_integer(kStepField, static_cast<std::uint64_t>(step))
                                 .add_bytes(kSummaryField, summary.values());
  file_.append(make_record(event.text()));
}

}  // namespace edgewise
