// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/base/config/fields.h"
#include "edgewise/experiment/translation_model.h"
#include "edgewise/translate/translation.h"
#include "edgewise/viz/attention_maps.h"

namespace edgewise {

/// The kinds of attention, in the order of attention_maps.
enum class AttentionKind { kEncoderSelf, kDecoderSelf, kCross };

inline constexpr auto enum_names(AttentionKind) { return names_in_order<AttentionKind>("encoder", "decoder", "cross"); }

/// Encodes a text for a language model, with its begin and end token. Throws Error for a text with more tokens than a
/// chunk of its training, and as encode_pair does.
TokenPair encode_text(const TranslationModel& model, std::string_view text, std::string_view caller);

/// Encodes a sentence pair. Throws Error for an input without tokens, for a sentence with more tokens than the model
/// was trained with, and for a pair whose attention weights do not fit into the memory; errors begin with `caller`.
TokenPair encode_pair(const TranslationModel& model, std::string_view input, std::string_view output,
                      std::string_view caller);

/// Encodes an input and keeps the tokens of the model's own output, because encoding the output's text again may give
/// other tokens.
TokenPair encode_pair(const TranslationModel& model, std::string_view input, const TranslatedText& output,
                      std::string_view caller);

/// Computes the attention weights of all layers and heads on a pair: encoder self-attention, decoder self-attention and
/// cross-attention, with tokens as labels. A decoder node is labelled by its input token in self-attention, and by the
/// next token, which it predicts, in cross-attention, the last element. A language model has self-attention alone, as
/// the only element; a model with an SSRU has no self-attention of the decoder. Throws StopException if `stop` is set.
std::vector<AttentionMaps> attention_maps(const TranslationModel& model, const TokenPair& pair,
                                          const StopRequest* stop = nullptr);

inline constexpr std::string_view kMeanMap = "mean";

/// Selects one attention map of a model. Members that are unset or empty have defaults: cross-attention (in a language
/// model self-attention), the last
/// layer, the mean of its heads.
struct AttentionMapSelection {
  std::optional<AttentionKind> kind;
  std::string layer;  // a number from 0, or "mean"
  std::string head;   // a number from 0, or "mean"

  bool is_default() const { return !kind && layer.empty() && head.empty(); }
};

/// Returns the index of the selected kind among `num_kinds` kinds: the three of attention_maps, the two of a model with
/// an SSRU, or the decoder's alone, of a language model. Throws Error for a kind that is not among them; errors begin
/// with `caller`.
std::size_t select_kind(const AttentionMapSelection& selection, std::size_t num_kinds, std::string_view caller);

/// Returns the selected layer and head of `maps`, with the defaults filled in. Throws Error for a layer or a head
/// that `maps` does not have; errors begin with `caller`.
MapIndex select_map(const AttentionMapSelection& selection, const AttentionMaps& maps, std::string_view caller);

}  // namespace edgewise
