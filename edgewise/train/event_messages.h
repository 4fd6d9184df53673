// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Serialises TensorBoard's messages in the Protocol Buffers wire format: the fields of TensorFlow's event.proto and
// summary.proto that TensorBoard displays.

namespace edgewise {

/// A histogram: counts[i] values are above limits[i - 1] and at most limits[i].
struct Histogram {
  double lowest = 0.0;
  double highest = 0.0;
  double count = 0.0;
  double sum = 0.0;
  double sum_of_squares = 0.0;
  std::vector<double> limits;
  std::vector<double> counts;
};

/// The values of one step. A tag, such as "valid/bleu", names a curve in TensorBoard.
class EventSummary {
 public:
  void add_scalar(std::string_view tag, double value);
  void add_histogram(std::string_view tag, const Histogram& histogram);
  void add_text(std::string_view tag, std::string_view markdown);

  const std::string& values() const { return values_; }

 private:
  void add_value(std::string_view value);

  std::string values_;
};

/// Return serialised events with a time in seconds since 1970. A file begins with a version event. A restart event
/// makes TensorBoard discard all earlier events of `first_step` and later steps.
std::string version_event(double seconds);
std::string restart_event(double seconds, std::int64_t first_step);
std::string summary_event(double seconds, std::int64_t step, const EventSummary& summary);

/// Returns the step of an event, 0 for an event without a step. Throws Error for bytes that are not an event.
std::int64_t step_of_event(std::string_view event);

/// Returns the tag of the first value of an event, "" for an event without values. Throws Error as step_of_event does.
std::string first_tag_of_event(std::string_view event);

}  // namespace edgewise
