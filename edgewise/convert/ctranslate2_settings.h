// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "edgewise/base/files/json_settings.h"
#include "edgewise/convert/ctranslate2_model.h"
#include "edgewise/options/transformer_options.h"

namespace edgewise {

/// Settings of a CTranslate2 model, which its numbers and texts give.
struct Ctranslate2Settings {
  // Without the options that depend on the tensors: final_norm, attention_bias, positions, max_positions and tying.
  TransformerOptions model;
  bool starts_from_zero = false;  // whether the decoder's first input is a vector of zeros, whatever its token
  bool end_input = false;
  std::string unknown;
  std::string begin;  // first input of the decoder
  std::string end;
};

/// Reads the settings of a Transformer. `config` is config.json, without members if the model has no such file. Throws
/// Error, beginning with `where` or with that of `config`, for settings of layers or sentences that Edgewise does not
/// have.
Ctranslate2Settings read_ctranslate2_settings(const Ctranslate2Model& model, const Ctranslate2Variables& variables,
                                              const JsonSettings& config, const std::string& where);

}  // namespace edgewise
