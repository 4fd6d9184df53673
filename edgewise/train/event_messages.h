// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// TensorBoard's messages, as Protocol Buffers put them on the wire: of TensorFlow's event.proto and summary.proto,
// those fields that TensorBoard shows.

namespace edgewise {

/// How often values lie where: counts[i] of them up to limits[i] and above the limit before.
struct Histogram {
  double lowest = 0.0;
  double highest = 0.0;
  double count = 0.0;
  double sum = 0.0;
  double sum_of_squares = 0.0;
  std::vector<double> limits;
  std::vector<double> counts;
};

/// What is known of one step. A tag is what TensorBoard calls a curve: "valid/bleu".
class EventSummary {
 public:
  void add_scalar(std::string_view tag, double value);
  void add_histogram(std::string_view tag, const Histogram& histogram);
  void add_text(std::string_view tag, std::string_view markdown);

  bool is_empty() const { return values_.empty(); }
  const std::string& values() const { return values_; }

 private:
  void add_value(std::string_view value);

  std::string values_;
};

/// Events, each at a time in seconds since 1970. A file begins with the first; where training goes on, the second makes
/// TensorBoard forget all events of this step and above.
std::string version_event(double seconds);
std::string restart_event(double seconds, std::int64_t first_step);
std::string summary_event(double seconds, std::int64_t step, const EventSummary& summary);

/// The step of an event, 0 where it has none. Throws Error for bytes that are no event.
std::int64_t step_of_event(std::string_view event);

}  // namespace edgewise
