// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/embed.h"

#include <string_view>

#include "edgewise/base/error.h"
#include "edgewise/ops/checks.h"

namespace edgewise {
namespace {

void check_rows(std::string_view what, std::span<const std::int64_t> rows, const at::Tensor& table) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    check(rows[i] >= 0 && rows[i] < table.size(0), "embed: {} {} is {}, needs a number from 0 to {}", what, i, rows[i],
          table.size(0) - 1);
  }
}

void check_arguments(const at::Tensor& weight_CM, std::span<const std::int64_t> tokens, const at::Tensor& table_PM,
                     std::span<const std::int64_t> positions, const EmbedOptions& options) {
  check_computable("embed", "weight", weight_CM);
  check_dimensions("embed", "weight", weight_CM, 2, "words, features");
  check_rows("token", tokens, weight_CM);
  check_dropout_rate("embed", "dropout", options.dropout);
  const std::size_t needed = table_PM.defined() ? tokens.size() : 0;
  check(positions.size() == needed, "embed: positions are {}, but {} are needed: {}", positions.size(), needed,
        table_PM.defined() ? "one for each token" : "there is no table");
  if (!table_PM.defined()) return;
  check_computable("embed", "table", table_PM);
  check_same_type("embed", "table", table_PM, "weight", weight_CM);
  check_dimensions("embed", "table", table_PM, 2, "positions, features");
  check(table_PM.size(1) == weight_CM.size(1), "embed: table has {} features but weight has {}; they must be equal",
        table_PM.size(1), weight_CM.size(1));
  check_rows("position", positions, table_PM);
}

}  // namespace

at::Tensor embed(const at::Tensor& weight_CM, std::span<const std::int64_t> tokens, const at::Tensor& table_PM,
                 std::span<const std::int64_t> positions, const EmbedOptions& options) {
  check_arguments(weight_CM, tokens, table_PM, positions, options);
  return embed_plain(weight_CM, tokens, table_PM, positions, options);
}

}  // namespace edgewise
