// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "edgewise/train/appended_file.h"
#include "edgewise/train/event_messages.h"
#include "edgewise/train/observer.h"

namespace edgewise {

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
