// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/file_descriptor.h"
#include "edgewise/train/observer.h"
#include "edgewise/viz/attention_maps.h"

namespace edgewise {

/// The attention of a model on one sentence pair after `step` training steps.
struct AttentionSnapshot {
  std::int64_t step = 0;
  std::vector<AttentionMaps> maps;
};

/// Writes RUN/attention.jsonl: one line for each validation that records attention. A resumed run first removes the
/// lines of validations after its last one, so that each step has one line.
class AttentionLog : public TrainObserver {
 public:
  explicit AttentionLog(const std::filesystem::path& run);

  void on_begin(std::int64_t step, std::int64_t validated_step) override;

  /// Never throws: a line that cannot be written, such as on a full disk, is written with the next one.
  void on_validation(std::int64_t step, const Validation& validation, bool is_best) override;

 private:
  std::filesystem::path file_name_;
  std::optional<FileDescriptor> file_;
  std::size_t size_ = 0;
  std::string unwritten_;
};

/// Reads a run's attention.jsonl in the order of the steps. Returns nothing for a run without the file, and skips a
/// last line without a line feed, which is still being written. Errors begin with `caller`.
std::vector<AttentionSnapshot> read_attention_log(const std::filesystem::path& run, std::string_view caller);

}  // namespace edgewise
