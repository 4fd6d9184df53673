// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/runtime/gpu/array.h"
#include "edgewise/runtime/output_projection.h"

namespace edgewise {

/// Computes candidates and log-probabilities of the next token from the logits of a step, which stay on the GPU; only
/// the results are copied to the host. The host reduces the logits of a step with more than kernels::kMaxTopTokens
/// candidates of a row. Shapes: R = rows, C = columns: the vocabulary, and then logits of -infinity.
class GpuOutput {
 public:
  GpuOutput(std::int64_t vocabulary_size, std::int64_t columns)
      : vocabulary_size_(vocabulary_size), columns_(columns) {}

  /// Begins a step: allocates the results, and adds its arrays to `upload`.
  void begin(const StepRequest& request, Upload& upload, const GpuStream& stream, StepResult& result);

  /// Returns whether each reduction of logits with the same counts() begins the same kernels and copies.
  bool can_repeat(const StepRequest& request) const { return !needs_all_logits(request); }

  /// Returns the numbers that the arguments of reduce() depend on.
  std::vector<std::int64_t> counts(const StepRequest& request);

  /// Begins to reduce the logits, [R, C], after the upload was sent.
  void reduce(const StepRequest& request, const float* logits, Upload& upload, const GpuStream& stream);

  /// Writes all fields of `result` but `attention` and `ponder_steps`, after the stream has finished.
  void write(const StepRequest& request, StepResult& result);

 private:
  bool needs_all_logits(const StepRequest& request) const { return request.all || is_reduced_on_host_; }
  void add_rows(Upload& upload, const GpuStream& stream);
  void add_wanted(const StepRequest& request, Upload& upload);
  void update_penalties(const GpuStream& stream);
  void reduce_on_gpu(const StepRequest& request, const float* logits, Upload& upload, const GpuStream& stream);
  void copy_logits(StepResult& result) const;
  void read_rows();
  void reduce_on_host();

  std::int64_t vocabulary_size_;
  std::int64_t columns_;
  bool is_reduced_on_host_ = false;
  CandidateRows candidates_;
  UploadedArray<kernels::LogSumExpTopK> rows_ = {};
  UploadedArray<NodeIndex> wanted_ = {};  // the places of wanted logits among all logits
  GpuArray<float> top_logits_, wanted_logits_, penalties_;
  GpuArray<std::int32_t> top_tokens_;
  StagedCopy copy_of_penalties_;
  std::vector<float> host_penalties_;  // [C], or empty; the content of `penalties_`
  HostArray<float> host_logits_, host_wanted_, host_top_logits_;
  HostArray<std::int32_t> host_top_tokens_;
  HostArray<kernels::LogSumExpTopK> host_rows_;
};

}  // namespace edgewise
