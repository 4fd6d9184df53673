// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/event_messages.h"

#include <bit>
#include <span>

#include "edgewise/text/protobuf_walk.h"

namespace edgewise {
namespace {

enum class Wire : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr std::uint32_t kStepField = 2;  // of an event

/// A message that grows field by field.
class Message {
 public:
  Message& whole(std::uint32_t field, std::uint64_t value) {
    key(field, Wire::kVarint);
    varint(value);
    return *this;
  }
  Message& real(std::uint32_t field, double value) {
    key(field, Wire::kFixed64);
    little_endian(std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  Message& real(std::uint32_t field, float value) {
    key(field, Wire::kFixed32);
    little_endian(std::bit_cast<std::uint32_t>(value));
    return *this;
  }
  Message& bytes(std::uint32_t field, std::string_view value) {
    key(field, Wire::kBytes);
    varint(value.size());
    text_ += value;
    return *this;
  }
  Message& reals(std::uint32_t field, std::span<const double> values) {
    Message packed;
    for (const double value : values) packed.little_endian(std::bit_cast<std::uint64_t>(value));
    return bytes(field, packed.text_);
  }

  const std::string& text() const { return text_; }

 private:
  void key(std::uint32_t field, Wire type) { varint(field << 3 | static_cast<std::uint32_t>(type)); }

  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(0x80 | (value & 0x7F));
    text_ += static_cast<char>(value);
  }

  template <typename Number>
  void little_endian(Number value) {
    for (std::size_t i = 0; i < sizeof(Number); ++i) text_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }

  std::string text_;
};

Message event_at(double seconds) { return Message().real(1, seconds); }

}  // namespace

void EventSummary::add_value(std::string_view value) { values_ += Message().bytes(1, value).text(); }

void EventSummary::add_scalar(std::string_view tag, double value) {
  add_value(Message().bytes(1, tag).real(2, static_cast<float>(value)).text());
}

void EventSummary::add_histogram(std::string_view tag, const Histogram& histogram) {
  const Message values = Message()
                             .real(1, histogram.lowest)
                             .real(2, histogram.highest)
                             .real(3, histogram.count)
                             .real(4, histogram.sum)
                             .real(5, histogram.sum_of_squares)
                             .reals(6, histogram.limits)
                             .reals(7, histogram.counts);
  add_value(Message().bytes(1, tag).bytes(5, values.text()).text());
}

// A tensor of one string, which the metadata hand to the text plug-in.
void EventSummary::add_text(std::string_view tag, std::string_view markdown) {
  constexpr std::uint64_t kStrings = 7;  // the tensor's dtype
  const Message plugin = Message().bytes(1, "text");
  const Message dimension = Message().whole(1, 1);
  const Message shape = Message().bytes(2, dimension.text());
  const Message tensor = Message().whole(1, kStrings).bytes(2, shape.text()).bytes(8, markdown);
  const Message metadata = Message().bytes(1, plugin.text());
  add_value(Message().bytes(1, tag).bytes(8, tensor.text()).bytes(9, metadata.text()).text());
}

std::string version_event(double seconds) { return event_at(seconds).bytes(3, "brain.Event:2").text(); }

std::string restart_event(double seconds, std::int64_t first_step) {
  constexpr std::uint64_t kStart = 1;
  const Message session = Message().whole(1, kStart);
  return event_at(seconds).whole(kStepField, static_cast<std::uint64_t>(first_step)).bytes(7, session.text()).text();
}

std::string summary_event(double seconds, std::int64_t step, const EventSummary& summary) {
  return event_at(seconds).whole(kStepField, static_cast<std::uint64_t>(step)).bytes(5, summary.values()).text();
}

std::int64_t step_of_event(std::string_view event) {
  std::uint64_t step = 0;
  walk_message(event, "step_of_event", [&step](const WireField& field) {
    if (field.number == kStepField && field.type == WireField::Type::kVarint) step = field.value;
  });
  return static_cast<std::int64_t>(step);
}

}  // namespace edgewise
