// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "edgewise/base/descriptor.h"
#include "edgewise/train/event_messages.h"

namespace edgewise {

/// What TensorBoard reads of a run: events.out.tfevents.N, a file for each process that trained it, where N is the step
/// that it began behind. A file is TFRecords: each a length, its checksum, an event, and that one's checksum.
///
/// No step is there twice: whoever goes on behind a step cuts off what a lost process wrote behind it, and tells a
/// TensorBoard that has read it already.
class EventFile {
 public:
  /// Throws Error when the file cannot be made, or an older one neither read nor cut.
  EventFile(const std::filesystem::path& run, std::int64_t step);

  /// Appends an event whole. What there is no place for waits for the next one: pictures stop no training.
  void append(std::int64_t step, const EventSummary& summary);

 private:
  void write(std::string_view event);

  Descriptor file_;
  std::size_t size_ = 0;
  std::string waiting_;
};

}  // namespace edgewise
