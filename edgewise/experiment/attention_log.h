// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/descriptor.h"
#include "edgewise/train/observer.h"
#include "edgewise/viz/attention_maps.h"

namespace edgewise {

/// Where a model looked in one pair, after so many steps of training.
struct AttentionMoment {
  std::int64_t step = 0;
  std::vector<AttentionMaps> maps;
};

/// Keeps RUN/attention.jsonl: a line for each validation that tells of attention. No step is there twice: whoever goes
/// on behind a step cuts off the lines behind it.
class AttentionLog : public TrainObserver {
 public:
  explicit AttentionLog(const std::filesystem::path& run);

  void on_begin(std::int64_t step) override;

  /// What a full disk has no place for waits for the next line: pictures stop no training.
  void on_validation(std::int64_t step, const Validation& validation, bool is_best) override;

 private:
  std::filesystem::path file_name_;
  std::optional<Descriptor> file_;
  std::size_t size_ = 0;
  std::string waiting_;
};

/// What such a file says, in the order of the steps; nothing where a run has none. A last line without an end is still
/// being written. Errors begin with `caller`.
std::vector<AttentionMoment> read_attention(const std::filesystem::path& run, std::string_view caller);

}  // namespace edgewise
