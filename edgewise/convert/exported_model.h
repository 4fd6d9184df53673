// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {

/// Systems that a model can be written for.
enum class ExportFormat { kCtranslate2, kHuggingFace, kMarian };

inline constexpr auto enum_names(ExportFormat) {
  return std::array{EnumName{ExportFormat::kCtranslate2, "ctranslate2"},
                    EnumName{ExportFormat::kHuggingFace, "huggingface"}, EnumName{ExportFormat::kMarian, "marian"}};
}

/// Writes the directory of another system that has the parameters and the vocabularies of a model, with a manifest.json
/// that the other system ignores. Throws Error, beginning with `caller`, for a model that the other system cannot have
/// exactly, and writes nothing then. Replaces a directory as write_model does (imported_model.h). left_out_options
/// lists what the files do not have.
void export_model(const ModelFiles& model, ExportFormat format, const std::filesystem::path& destination,
                  std::string_view caller);

/// Lists what exported files leave out although it changes translations: options in the form of settings, such as
/// "search.coverage_penalty=0.2", and for CTranslate2 the tokens that outputs may not contain. An option whose value
/// the other system has by default is not listed; neither are options of training.
std::vector<std::string> left_out_options(const ModelFiles& model, ExportFormat format);

// One function for each format returns the bytes of each file by its name.

/// Returns the files of a model of Hugging Face's transformers: MarianMT for post-norm models, M2M-100 for pre-norm
/// models.
///
/// Parameters keep their bits and their type; matrices of I8 become F32. A MarianMT model whose positions are not
/// `halves` has a table of them, which from_pretrained() reads and save_pretrained() leaves out. The tokenizer gives a
/// text the tokens of Edgewise, but with a vocabulary that Edgewise learned, the name of a special token in a text,
/// `<end>`, is that token. A default output language of MarianMT is left out: inputs must begin with its code.
///
/// With search.rules=huggingface, generate() gives the outputs of Edgewise. With search.rules=edgewise, it gets the
/// nearest options: beam, n_best, length_penalty (1 for average, 0 for none; for gnmt the exponent of the length n
/// instead of (5 + n) / 6), max_length (the longest output for the longest input; outputs at the limit get their end
/// token for nothing), min_length, no_repeat_ngram and repetition_penalty; left_out_options lists the others.
std::map<std::string, std::string> export_hugging_face(const ModelFiles& model, std::string_view caller);

/// Returns the files of a language model of Hugging Face's transformers: GPT-2 for layer_norm with position vectors,
/// Llama for rms_norm with rotary positions and gates; for such a model with windows Mistral, Ministral if only some
/// layers have them, or Qwen 2 if attention has biases. Biases that the model does not have are zeros in GPT-2, and a
/// formula of positions becomes a table. causal_tokenizer.h has the tokenizer; transformers 5 splits the texts of Qwen
/// 2 as Qwen 2 does, whatever tokenizer.json says. Throws Error, beginning with `caller`, for options that none of
/// these has, and for an output bias other than 0.
std::map<std::string, std::string> export_causal(const ModelFiles& model, std::string_view caller);

/// Returns the files of a Marian model: model.npz with F32 arrays, decoder.yml, the vocabularies and the SentencePiece
/// models. The model must have the positions and the norm_epsilon of Marian, and begin outputs with a vector of zeros.
/// Marian 1.12 translates as Edgewise does with the options of an imported Marian model: beam, length_norm=power,
/// length_penalty, length_factor and force_end=false. With other search options, decoder.yml has the beam and the
/// nearest length penalty.
std::map<std::string, std::string> export_marian(const ModelFiles& model, std::string_view caller);

/// Returns the files of a CTranslate2 model: model.bin with F32 variables, config.json, the vocabularies, and
/// the SentencePiece models that split texts: sentencepiece.model, or source.spm and target.spm. They are left out for
/// a model whose vocabulary.input_case or output_case is not `keep`: its tokens are those of texts of another case.
/// Positions by a formula become a table of 1024 rows, the most tokens of a sentence with those around it. Outputs may
/// contain tokens that search excludes here, such as `<unknown>`: translate_batch() has suppress_sequences for them.
/// Languages of a multilingual model must be written as tokens. Throws Error, beginning with `caller`, for options that
/// CTranslate2 does not have.
std::map<std::string, std::string> export_ctranslate2(const ModelFiles& model, std::string_view caller);

}  // namespace edgewise
