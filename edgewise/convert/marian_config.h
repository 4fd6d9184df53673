// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/convert/stored_tensor.h"
#include "edgewise/convert/token_list_builder.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/search/options.h"

namespace edgewise {

/// The token that is added after those of Marian. It is padding and begins outputs.
inline constexpr std::string_view kMarianPadding = "<pad>";

/// The output bias of kMarianPadding. Its probability is 0 in every precision, so that the other tokens have the
/// probabilities of Marian, which has no such token.
inline constexpr float kPaddingBias = -8192;

inline constexpr std::string_view kMarianEnd = "</s>";

/// Settings of decoder.yml: tokens that are no text, and that outputs may contain nevertheless.
struct MarianTokenRules {
  bool allow_unknown = false;  // `<unk>`; allow-unk
  bool allow_control = false;  // names of control characters; allow-special

  friend bool operator==(const MarianTokenRules&, const MarianTokenRules&) = default;
};

/// Returns whether a token is the name of a control character, such as "<0x0A>".
bool is_marian_control_token(std::string_view token);

/// Makes the list of Marian's tokens, by number, and kMarianPadding. Throws Error, beginning with `where`, unless
/// `</s>` and `<unk>` are among them.
TokenListBuilder marian_token_list(std::vector<std::string> tokens, const MarianTokenRules& rules,
                                   const std::string& where);

/// The norms of Marian have this epsilon.
inline constexpr double kMarianEpsilon = 1e-6;

/// The files of a model, and the settings of its decoder.
struct MarianDecoder {
  std::filesystem::path model;            // an npz or a binary file
  std::filesystem::path vocabularies[2];  // files of input and output; equal for a common vocabulary
  std::filesystem::path shortlist = {};   // a binary file; empty: there is none
  std::int64_t max_length = 0;            // most tokens of an input, with its end token
  MarianTokenRules token_rules;
  SearchOptions search;
};

/// Returns whether a directory has the files of a student as Bergamot or Firefox ships it, instead of decoder.yml:
/// config*.yml, or model.NAME.bin. Each of these files but the config, and each vocabulary and shortlist, may be
/// compressed by gzip, and then its name ends with `.gz`; an npz file may not.
bool is_marian_student(const std::filesystem::path& directory, std::string_view caller);

/// Reads config.intgemm8bitalpha.yml, or the only file config*.yml of a student. Without one, the files are those of
/// Firefox: one model.NAME.bin, vocab.NAME.spm, or srcvocab.NAME.spm and trgvocab.NAME.spm, and lex.NAME.bin or none;
/// the settings are those of Firefox, too. The search is as in read_marian_decoder. A config may name a shortlist that
/// is no binary file, which is ignored. Throws Error for files that are missing or there twice.
MarianDecoder read_marian_student(const std::filesystem::path& directory, std::string_view caller);

/// Reads decoder.yml. The search gives the outputs of Marian: scores are divided by a power of the length, and outputs
/// have at most max-length-factor times the length of their inputs, with end tokens. Throws Error for several models,
/// for word penalties, and for a max-length-factor that is no whole number.
MarianDecoder read_marian_decoder(const std::filesystem::path& directory, std::string_view caller);

/// Returns the attention that Marian makes alignments from: the first head of the decoder layer that training with
/// guided alignments used, which the array special:model.yml names.
CrossHeads read_marian_heads(TensorLookup& arrays, std::string_view where);

/// Returns the options of the model with these arrays, which the array special:model.yml describes. The vocabulary has
/// one token more than the tables, for padding. Throws Error for options of Marian that Edgewise does not have.
TransformerOptions read_marian_options(TensorLookup& arrays, std::string_view where);

}  // namespace edgewise
