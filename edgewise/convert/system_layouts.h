// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "edgewise/convert/tensor_layout.h"

namespace edgewise {

/// Returns the variables of a CTranslate2 TransformerSpec that hold the parameters of a model. Projections that have
/// one input are joined: query, key and value of self-attention; key and value of cross-attention.
std::vector<TensorLayout> ctranslate2_layout(const TransformerOptions& options);

/// Names of the tensors with the embeddings. Tied tables have one name.
struct HuggingFaceEmbeddingNames {
  std::string input = "model.shared.weight";
  std::string output = "model.shared.weight";
  std::string projection = "model.shared.weight";
};

/// Returns the tensors of a state dict of MarianMTModel or M2M100ForConditionalGeneration that hold the parameters of a
/// model. `has_output_bias`: the state dict has the bias of the logits, final_logits_bias.
std::vector<TensorLayout> hugging_face_layout(const TransformerOptions& options,
                                              const HuggingFaceEmbeddingNames& embeddings, bool has_output_bias);

/// Returns the tensors of a state dict of GPT2LMHeadModel, whose names begin with `prefix`, that hold the parameters of
/// a language model with learned positions and all biases.
std::vector<TensorLayout> gpt2_layout(const TransformerOptions& options, const std::string& prefix);

/// Returns the tensors of a state dict of LlamaForCausalLM, MistralForCausalLM, MinistralForCausalLM or
/// Qwen2ForCausalLM that hold the parameters of a language model with rms_norm and gates. `has_output_biases`: the
/// output projections of attention have biases, if the others have them.
std::vector<TensorLayout> llama_layout(const TransformerOptions& options, bool has_output_biases);

/// Returns the arrays of Marian's npz file that hold the parameters of a model.
std::vector<TensorLayout> marian_layout(const TransformerOptions& options);

}  // namespace edgewise
