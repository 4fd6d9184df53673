// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "edgewise/convert/tensor_layout.h"

namespace edgewise {

/// Names of the tensors with the embeddings. Tied tables have one name.
struct HuggingFaceEmbeddings {
  std::string input = "model.shared.weight";
  std::string output = "model.shared.weight";
  std::string projection = "model.shared.weight";
};

/// Returns the tensors of a state dict of MarianMTModel or M2M100ForConditionalGeneration that hold the parameters of a
/// model.
std::vector<TensorLayout> hugging_face_layout(const TransformerOptions& options,
                                              const HuggingFaceEmbeddings& embeddings, bool has_output_bias);

}  // namespace edgewise
