// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "edgewise/convert/stored_tensor.h"
#include "edgewise/translate/model_files.h"

// Parameters in the form that exporters share.

namespace edgewise {

/// Throws an Error about an option: "edgewise export: model.score is additive, needs dot".
[[noreturn]] void refuse_option(std::string_view caller, std::string_view option, std::string_view has,
                                std::string_view needs);

/// Throws Error, beginning with `caller`, for options that no other system has: of kind, score, clamp, norm,
/// norm_epsilon and case.
void check_exportable(const Experiment& experiment, std::string_view caller);

/// Types of exported parameters: F16 and BF16 stay, or all become F32, which changes no value.
enum class ExportedTypes { kStored, kF32 };

/// Returns the parameters that list_parameters lists for a model with biases in attention, where biases that the model
/// lacks are 0; matrices of I8 become F32. The result views the memory of `model` or has its own. Throws Error,
/// beginning with `caller`, for parameters that do not fit the options.
StoredTensors exported_parameters(const ModelFiles& model, ExportedTypes types, std::string_view caller);

/// Returns a parameter, which must be there.
const TensorInfo& find_parameter(const StoredTensors& parameters, std::string_view name);

/// Returns whether elements [first, first + count) of a parameter are 0.
bool are_zeros(const TensorInfo& parameter, std::int64_t first, std::int64_t count);

}  // namespace edgewise
