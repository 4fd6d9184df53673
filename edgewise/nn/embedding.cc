// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/embedding.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <string>

#include "edgewise/base/error.h"
#include "edgewise/ops/device_copies.h"
#include "edgewise/ops/embed.h"

namespace edgewise {
namespace {

// Most rows of the cached table. A call with a larger position computes the rows that it needs.
constexpr std::int64_t kMaxTableRows = 1 << 16;

at::Tensor compute(std::span<const std::int64_t> positions, const PositionFormula& formula) {
  at::Tensor result_TM = at::empty({std::ssize(positions), formula.size()}, at::kDouble);
  double* row = result_TM.mutable_data_ptr<double>();
  for (const std::int64_t position : positions) {
    formula.write(position, row);
    row += formula.size();
  }
  return result_TM;
}

void check_not_negative(std::span<const std::int64_t> positions) {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    check(positions[i] >= 0, "Positions: position {} is {}, needs 0 or more", i, positions[i]);
  }
}

/// Returns the tokens, of which those of the second half that the pass cuts are kNoToken. Each of them is cut
/// independently of the others.
std::vector<std::int64_t> cut_tokens(std::span<const std::int64_t> tokens, Pass& pass) {
  std::vector<std::int64_t> kept(tokens.begin(), tokens.end());
  if (pass.cut_rate() == 0) return kept;
  const DropoutKey key = pass.next_key();
  RandomStream random(key.seed, key.stream);
  for (std::size_t i = kept.size() / 2; i < kept.size(); ++i) {
    if (random.uniform() < pass.cut_rate()) kept[i] = kNoToken;
  }
  return kept;
}

}  // namespace

struct PositionEncodings::Table {
  PositionFormula formula;
  std::mutex mutex = {};
  std::map<std::pair<at::ScalarType, std::string>, at::Tensor> tables = {};  // by type and device, [positions, size]

  /// Returns a table of at least `count` rows.
  at::Tensor grow_to(std::int64_t count, const at::TensorOptions& options) {
    const std::lock_guard lock(mutex);
    at::Tensor& table = tables[{c10::typeMetaToScalarType(options.dtype()), options.device().str()}];
    const std::int64_t num_rows = table.defined() ? table.size(0) : 0;
    if (num_rows < count) {
      // Decoding may compute a table that training reads later, and autograd rejects tensors created in inference mode.
      const c10::InferenceMode normal_tensors(false);
      std::vector<std::int64_t> positions(static_cast<std::size_t>(std::max(count, 2 * num_rows)));
      std::iota(positions.begin(), positions.end(), 0);
      table = compute(positions, formula).to(options);
    }
    return table;
  }
};

PositionEncodings::PositionEncodings(PositionFormula formula) : table_(new Table{.formula = std::move(formula)}) {}

PositionRows PositionEncodings::rows(std::span<const std::int64_t> positions, const at::TensorOptions& options) const {
  check_not_negative(positions);
  std::vector<std::int64_t> rows(positions.begin(), positions.end());
  const std::int64_t last = rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end());
  if (last < kMaxTableRows) return {table_->grow_to(last + 1, options), std::move(rows)};

  const at::Tensor table_PM = compute(positions, table_->formula).to(options);
  std::iota(rows.begin(), rows.end(), 0);
  return {table_PM, std::move(rows)};
}

at::Tensor PositionEncodings::operator()(std::span<const std::int64_t> positions, const at::TensorOptions& options,
                                         std::span<const std::int64_t> mirrored) const {
  if (!mirrored.empty()) {
    const std::int64_t half = table_->formula.size() / 2;
    return at::cat({(*this)(positions, options).narrow(1, 0, half), (*this)(mirrored, options).narrow(1, half, half)},
                   /*dim=*/1);
  }
  const auto [table_PM, rows_T] = rows(positions, options);
  return table_PM.index_select(0, index_tensor(std::span<const std::int64_t>(rows_T), table_PM.device()));
}

SidePositions::SidePositions(std::int64_t count, std::int64_t size, EmbeddingInit init, RandomStream& random)
    : weight(embedding_init(count, size, init, random)) {}

PositionRows SidePositions::rows(std::span<const std::int64_t> positions, const at::TensorOptions& options,
                                 std::span<const std::int64_t> mirrored) const {
  if (!mirrored.empty()) {
    PositionRows rows = {(*encodings)(positions, options, mirrored), {}};
    rows.rows.resize(positions.size());
    std::iota(rows.rows.begin(), rows.rows.end(), 0);
    return rows;
  }
  if (encodings) return encodings->rows(positions, options);
  if (!weight.defined()) return {};
  check_not_negative(positions);
  for (const std::int64_t position : positions) check_learned_position(position, weight.size(0), "Positions");
  return {weight, {positions.begin(), positions.end()}};
}

Embedding::Embedding(std::int64_t vocabulary, std::int64_t size, EmbeddingInit init, RandomStream& random)
    : weight(embedding_init(vocabulary, size, init, random)) {}

at::Tensor Embedding::operator()(std::span<const std::int64_t> tokens) const {
  return embed(weight, tokens, {}, {}, {.scale = scale});
}

at::Tensor Embedding::operator()(std::span<const std::int64_t> tokens, const DropoutRates& dropout, Pass& pass) const {
  EmbedOptions options = {.scale = scale};
  pass.set_dropout(dropout.word, options.word_dropout, options.word_dropout_key);
  return embed(weight, cut_tokens(tokens, pass), {}, {}, options);
}

at::Tensor Embedding::operator()(std::span<const std::int64_t> tokens, const SidePositions& side_positions,
                                 std::span<const std::int64_t> positions, const DropoutRates& dropout, Pass& pass,
                                 std::span<const std::int64_t> mirrored) const {
  EmbedOptions options = {.scale = scale};
  pass.set_dropout(dropout.embedding, options.dropout, options.dropout_key);
  pass.set_dropout(dropout.word, options.word_dropout, options.word_dropout_key);
  const auto [table_PM, rows] = side_positions.rows(positions, weight.options(), mirrored);
  return embed(weight, cut_tokens(tokens, pass), table_PM, rows, options);
}

}  // namespace edgewise
