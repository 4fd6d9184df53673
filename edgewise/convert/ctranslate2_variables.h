// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "edgewise/convert/ctranslate2_model.h"

namespace edgewise {

/// The variables of a CTranslate2 model, each with all its names.
struct Ctranslate2Variables {
  StoredTensors settings;  // numbers, and texts of models without config.json
  StoredTensors tensors;
};

/// Takes the variables out of a model. Weights are what base/files/stored_parameters.h describes: a matrix of I8 gets
/// the tensor NAME.scale, which multiplies, in place of NAME_scale, which divides; a matrix of I16 becomes F32. The
/// table of inputs is "encoder/embeddings_0/weight" in models of all revisions. Throws Error, beginning with `where`,
/// for scales that are missing, of another shape, or not finite and their inverses too.
Ctranslate2Variables take_ctranslate2_variables(Ctranslate2Model model, const std::string& where);

}  // namespace edgewise
