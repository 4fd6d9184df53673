// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/convert/stored_tensor.h"
#include "edgewise/options/transformer_options.h"

namespace edgewise {

/// Returns the vectors of positions first, first + 1, …: a matrix [count, size].
std::vector<float> position_table(std::int64_t size, PositionKind kind, std::int64_t count, std::int64_t first = 0);

/// Returns whether a tensor [positions, size] of F32 has the vectors of a formula of position vectors, which
/// positions/position_formula.h defines, bit for bit.
bool is_position_table(const TensorInfo& table, std::int64_t size, PositionKind kind);

// The tables of position vectors of a CTranslate2 model.
inline constexpr const char* kInputEncodings = "encoder/position_encodings/encodings";
inline constexpr const char* kOutputEncodings = "decoder/position_encodings/encodings";

/// Sets the options of positions. Tables with the values of a formula, bit for bit, are removed; others are learned
/// positions. A side without a table has the positions that CTranslate2 computes, for which Edgewise has no formula:
///
///     (position + 1) / 10000^(k / (size / 2 - 1)); first the sines, then the cosines of k = 0, 1, ..., size / 2 - 1
///
/// It gets a table of them: as many as the other side has, or 1024. CTranslate2 computes them in single precision, with
/// errors that depend on the processor; the table has the nearest single numbers. Returns the number of positions that
/// each side has in CTranslate2. Throws Error, beginning with `where`, for tables of different lengths.
std::int64_t choose_ctranslate2_positions(StoredTensors& stored, TransformerOptions& options, const std::string& where);

}  // namespace edgewise
