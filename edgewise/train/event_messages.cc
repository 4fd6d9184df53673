// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/event_messages.h"

#include <bit>
#include <span>

#include "edgewise/base/files/protobuf_walk.h"

namespace edgewise {
namespace {

enum class Wire : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Fields of Event, Summary and Summary.Value.
constexpr std::uint32_t kStepField = 2;
constexpr std::uint32_t kSummaryField = 5;
constexpr std::uint32_t kValueField = 1;
constexpr std::uint32_t kTagField = 1;

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
    append_little_endian(std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  EventMessage& add_real(std::uint32_t field, float value) {
    append_key(field, Wire::kFixed32);
    append_little_endian(std::bit_cast<std::uint32_t>(value));
    return *this;
  }
  EventMessage& add_bytes(std::uint32_t field, std::string_view value) {
    append_key(field, Wire::kBytes);
    append_varint(value.size());
    text_ += value;
    return *this;
  }
  EventMessage& add_reals(std::uint32_t field, std::span<const double> values) {
    EventMessage packed;
    for (const double value : values) packed.append_little_endian(std::bit_cast<std::uint64_t>(value));
    return add_bytes(field, packed.text_);
  }

  const std::string& text() const { return text_; }

 private:
  void append_key(std::uint32_t field, Wire type) { append_varint(field << 3 | static_cast<std::uint32_t>(type)); }

  void append_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(0x80 | (value & 0x7F));
    text_ += static_cast<char>(value);
  }

  template <typename Number>
  void append_little_endian(Number value) {
    for (std::size_t i = 0; i < sizeof(Number); ++i) text_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }

  std::string text_;
};

EventMessage event_at(double seconds) { return EventMessage().add_real(1, seconds); }

}  // namespace

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

// A text is a tensor of one string, which the metadata assign to the text plug-in.
void EventSummary::add_text(std::string_view tag, std::string_view markdown) {
  constexpr std::uint64_t kString = 7;  // DT_STRING
  const EventMessage plugin = EventMessage().add_bytes(1, "text");
  const EventMessage dimension = EventMessage().add_integer(1, 1);
  const EventMessage shape = EventMessage().add_bytes(2, dimension.text());
  const EventMessage tensor = EventMessage().add_integer(1, kString).add_bytes(2, shape.text()).add_bytes(8, markdown);
  const EventMessage metadata = EventMessage().add_bytes(1, plugin.text());
  add_value(EventMessage().add_bytes(1, tag).add_bytes(8, tensor.text()).add_bytes(9, metadata.text()).text());
}

std::string version_event(double seconds) { return event_at(seconds).add_bytes(3, "brain.Event:2").text(); }

std::string restart_event(double seconds, std::int64_t first_step) {
  constexpr std::uint64_t kStart = 1;
  const EventMessage session = EventMessage().add_integer(1, kStart);
  return event_at(seconds)
      .add_integer(kStepField, static_cast<std::uint64_t>(first_step))
      .add_bytes(7, session.text())
      .text();
}

std::string summary_event(double seconds, std::int64_t step, const EventSummary& summary) {
  return event_at(seconds)
      .add_integer(kStepField, static_cast<std::uint64_t>(step))
      .add_bytes(kSummaryField, summary.values())
      .text();
}

std::int64_t step_of_event(std::string_view event) {
  std::uint64_t step = 0;
  walk_message(event, "step_of_event", [&step](const WireField& field) {
    if (field.number == kStepField && field.type == WireField::Type::kVarint) step = field.value;
  });
  return static_cast<std::int64_t>(step);
}

std::string first_tag_of_event(std::string_view event) {
  const auto first = [](std::string_view message, std::uint32_t number) {
    std::string_view found;
    walk_message(message, "first_tag_of_event", [&](const WireField& field) {
      if (field.number == number && field.type == WireField::Type::kBytes && found.empty()) found = field.bytes;
    });
    return found;
  };
  return std::string(first(first(first(event, kSummaryField), kValueField), kTagField));
}

}  // namespace edgewise
