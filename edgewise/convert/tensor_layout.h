// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "edgewise/convert/stored_tensor.h"
#include "edgewise/options/transformer_options.h"

namespace edgewise {

/// Name and shape of a parameter in a model directory.
struct ParameterShape {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// Lists the parameters of a model with dot scores and without t5's positions. Throws Error for a Universal Transformer
/// and for additive scores, which no other system has.
std::vector<ParameterShape> list_parameters(const TransformerOptions& options);

// How another system stores the parameters of a model. One layout serves importing and exporting.

enum class Orientation {
  kRows,        // as Edgewise: a matrix [out, in], a vector [size]
  kTransposed,  // a matrix [in, out]
  kOneRow       // a vector [1, size]
};

/// A tensor of another system: the rows of one or more parameters of Edgewise, one parameter after the other.
struct TensorLayout {
  std::string name;
  std::vector<std::string> parameters;
  Orientation orientation = Orientation::kRows;
};

/// Returns the parameters, by the names of Edgewise, that the tensors hold, without changing an element. A matrix of I8
/// has a tensor NAME.scale with one scale for each row (base/files/stored_parameters.h), whatever its orientation, and
/// may have NAME.input_multiplier. The result views the memory of `tensors` or has its own. Throws Error for a tensor
/// that is missing or of another shape.
StoredTensors import_parameters(std::span<const ParameterShape> parameters, std::span<const TensorLayout> layout,
                                TensorLookup& tensors);

/// Returns the tensors of another system that hold the parameters, which are F32.
StoredTensors export_parameters(std::span<const TensorInfo> parameters, std::span<const TensorLayout> layout);

}  // namespace edgewise
