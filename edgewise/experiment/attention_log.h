// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/train/appended_file.h"
#include "edgewise/train/observer.h"
#include "edgewise/viz/attention_maps.h"

namespace edgewise {

/// The attention of a model on one sentence pair, or of a language model on one text, after `step` training steps.
struct AttentionSnapshot {
  std::int64_t step = 0;
  std::vector<AttentionMaps> maps;
};

/// Writes RUN/attention.jsonl: one line for each validation that records attention. A resumed run first removes the
/// lines of validations after its last one, so that each step has one line. A damaged line stays if a line of a
/// validation that counts follows it.
class AttentionLog : public TrainObserver {
 public:
  explicit AttentionLog(const std::filesystem::path& run);

  /// Throws Error when the file cannot be read or cut, or is no regular file.
  void on_begin(const StartReport& start) override;

  /// Never throws: before_save() reports a line that cannot be written, such as on a full disk.
  void on_validation(std::int64_t step, const Validation& validation, bool is_best) override;

  void before_save() override;

 private:
  void write_lines();

  std::filesystem::path file_name_;
  std::optional<AppendedFile> file_;  // opened by on_begin() if the file exists, else for the first line
  std::string lines_;                 // lines that file_ does not have
};

/// Reads a run's attention.jsonl in the order of the lines. Returns nothing for a run without the file, and skips a
/// last line without a line feed, which is still being written. Throws Error, which begins with `caller`, for a damaged
/// line and for a file that cannot be read.
std::vector<AttentionSnapshot> read_attention_log(const std::filesystem::path& run, std::string_view caller);

}  // namespace edgewise
