// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/gpu/output.h"

#include <algorithm>
#include <limits>
#include <span>

#include "edgewise/kernels/loss/logits_tile.h"
#include "edgewise/kernels/rows/rows.h"

namespace edgewise {
namespace {

/// Returns whether a NodeIndex has room for the number of each logit.
bool can_index(std::int64_t num_logits) { return num_logits <= std::numeric_limits<NodeIndex>::max(); }

}  // namespace

void GpuOutput::begin(const StepRequest& request, Upload& upload, const GpuStream& stream, StepResult& result) {
  candidates_.begin(request, vocabulary_size_, result);
  update_penalties(stream);
  const auto has_many = [](const kernels::LogSumExpTopK& row) { return row.capacity > kernels::kMaxTopTokens; };
  is_reduced_on_host_ =
      std::ranges::any_of(candidates_.rows(), has_many) || !can_index(std::ssize(request.nodes) * columns_);
  if (is_reduced_on_host_) return;
  add_rows(upload, stream);
  add_wanted(request, upload);
}

/// The lists of the rows on the GPU have the places of those on the host.
void GpuOutput::add_rows(Upload& upload, const GpuStream& stream) {
  float* const top_logits = top_logits_.allocate(std::ssize(candidates_.top_logits()), stream);
  std::int32_t* const top_tokens = top_tokens_.allocate(std::ssize(candidates_.top_tokens()), stream);
  std::vector<kernels::LogSumExpTopK> rows = candidates_.rows();
  for (kernels::LogSumExpTopK& row : rows) {
    const std::int64_t begin = row.top_logits - candidates_.top_logits().data();
    row.top_logits = top_logits + begin;
    row.top_tokens = top_tokens + begin;
  }
  rows_ = upload.add(std::span<const kernels::LogSumExpTopK>(rows));
}

void GpuOutput::add_wanted(const StepRequest& request, Upload& upload) {
  std::vector<NodeIndex> places;
  for (const Continuation& wanted : request.wanted) {
    places.push_back(static_cast<NodeIndex>(wanted.row * columns_ + wanted.token));
  }
  wanted_ = upload.add(std::span<const NodeIndex>(places));
}

void GpuOutput::update_penalties(const GpuStream& stream) {
  const std::span<const float> penalties = candidates_.penalties();
  const std::span<const float> known =
      std::span(host_penalties_).first(std::min(host_penalties_.size(), penalties.size()));
  if (std::ranges::equal(penalties, known) && penalties.empty() == host_penalties_.empty()) return;
  host_penalties_.assign(penalties.begin(), penalties.end());
  if (penalties.empty()) return;
  host_penalties_.resize(static_cast<std::size_t>(columns_));
  copy_of_penalties_.begin(std::span<const float>(host_penalties_), penalties_, stream);
}

std::vector<std::int64_t> GpuOutput::counts(const StepRequest& request) {
  return {std::ssize(request.nodes), std::ssize(candidates_.top_logits()), std::ssize(request.wanted),
          host_penalties_.empty() ? 0 : 1};
}

void GpuOutput::reduce(const StepRequest& request, const float* logits, Upload& upload, const GpuStream& stream) {
  if (needs_all_logits(request)) {
    begin_copy_to_host(logits, std::ssize(request.nodes) * columns_, host_logits_, stream);
  }
  if (!is_reduced_on_host_) reduce_on_gpu(request, logits, upload, stream);
}

void GpuOutput::reduce_on_gpu(const StepRequest& request, const float* logits, Upload& upload,
                              const GpuStream& stream) {
  const auto num_rows = std::ssize(candidates_.rows());
  kernels::LogSumExpTopK* const rows = upload.at(rows_);
  kernels::reduce_logits_tile(kernels::LogitsTile{.rows = num_rows,
                                                  .columns = columns_,
                                                  .first_token = 0,
                                                  .logits = logits,
                                                  .penalty = host_penalties_.empty() ? nullptr : penalties_.data(),
                                                  .accumulators = rows},
                              stream);
  begin_copy_to_host(rows, num_rows, host_rows_, stream);
  begin_copy_to_host(top_logits_.data(), std::ssize(candidates_.top_logits()), host_top_logits_, stream);
  begin_copy_to_host(top_tokens_.data(), std::ssize(candidates_.top_tokens()), host_top_tokens_, stream);
  if (request.wanted.empty()) return;
  const auto num_wanted = std::ssize(request.wanted);
  float* const wanted = wanted_logits_.allocate(num_wanted, stream);
  kernels::gather_rows(
      kernels::IndexedRows<float>{
          .from = logits, .rows = upload.at(wanted_), .to = wanted, .num_rows = num_wanted, .size = 1},
      stream);
  begin_copy_to_host(wanted, num_wanted, host_wanted_, stream);
}

void GpuOutput::write(const StepRequest& request, StepResult& result) {
  if (request.all) copy_logits(result);
  if (is_reduced_on_host_) {
    reduce_on_host();
    for (std::size_t i = 0; i < request.wanted.size(); ++i) {
      result.wanted[i] = host_logits_.data()[request.wanted[i].row * columns_ + request.wanted[i].token];
    }
  } else {
    read_rows();
    std::copy_n(host_wanted_.data(), request.wanted.size(), result.wanted.begin());
  }
  candidates_.write(request, result);
}

void GpuOutput::copy_logits(StepResult& result) const {
  auto to = result.log_probabilities.begin();
  for (std::int64_t row = 0; row < std::ssize(candidates_.rows()); ++row) {
    to = std::copy_n(host_logits_.data() + row * columns_, vocabulary_size_, to);
  }
}

void GpuOutput::read_rows() {
  std::vector<kernels::LogSumExpTopK>& rows = candidates_.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const kernels::LogSumExpTopK& row = host_rows_.data()[i];
    rows[i].base = row.base;
    rows[i].sum = row.sum;
    rows[i].count = row.count;
  }
  std::copy_n(host_top_logits_.data(), candidates_.top_logits().size(), candidates_.top_logits().begin());
  std::copy_n(host_top_tokens_.data(), candidates_.top_tokens().size(), candidates_.top_tokens().begin());
}

void GpuOutput::reduce_on_host() {
  kernels::reduce_logits_tile(kernels::LogitsTile{.rows = std::ssize(candidates_.rows()),
                                                  .columns = columns_,
                                                  .first_token = 0,
                                                  .logits = host_logits_.data(),
                                                  .penalty = host_penalties_.empty() ? nullptr : host_penalties_.data(),
                                                  .accumulators = candidates_.rows().data()});
}

}  // namespace edgewise
