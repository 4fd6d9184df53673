// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/train/appended_file.h"
#include "edgewise/train/observer.h"

namespace edgewise {

/// Returns the CRC-32C checksum (Castagnoli polynomial; RFC 3720, appendix B.4). Speed: about 0.4 GB/s.
std::uint32_t crc32c(std::string_view bytes);

// Serialises TensorBoard's messages in the Protocol Buffers wire format: the fields of TensorFlow's event.proto and
// summary.proto that TensorBoard displays.

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

/// Writes the events of a run for TensorBoard. Each process that trains the run writes a file events.out.tfevents.N,
/// where N is the last step before that process. A file consists of TFRecords: length, checksum of the length, event,
/// checksum of the event. No step has a value twice: a process that resumes after step N removes the later events of
/// earlier processes, and those of step N that do not count because they were not due. The process also writes an event
/// that makes a running TensorBoard discard the later events.
class EventFile {
 public:
  /// Begins the file of a process that continues from a saved state. Throws Error when the file cannot be created, and
  /// when an older file cannot be read or truncated, or is no regular file.
  EventFile(const std::filesystem::path& run, const StartReport& start);

  /// Appends an event. Does not throw: sync() reports errors.
  void append(std::int64_t step, const EventSummary& summary);

  /// Writes all events to the disk (fsync). Throws Error as AppendedFile::sync does.
  void sync() { file_.sync(); }

 private:
  AppendedFile file_;
};

}  // namespace edgewise
