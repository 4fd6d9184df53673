// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "edgewise/experiment/model_directory.h"
#include "edgewise/graph/batch.h"
#include "edgewise/translate/translation.h"
#include "edgewise/viz/attention_maps.h"

namespace edgewise {

// Where these stand in what attention_maps returns.
inline constexpr std::size_t kEncoderMaps = 0;
inline constexpr std::size_t kDecoderMaps = 1;
inline constexpr std::size_t kCrossMaps = 2;

/// A pair as the model reads it. Throws Error, in the name of `caller`, for a sentence without tokens, and for one of
/// more tokens than the model was trained with.
TokenPair encode_pair(const TranslationModel& model, std::string_view input, std::string_view output,
                      std::string_view caller);

/// The same with an output that the model has said, token by token: its text may well be split into others.
TokenPair encode_pair(const TranslationModel& model, std::string_view input, const TranslatedText& output,
                      std::string_view caller);

/// Where the model looks while it reads a pair: three kinds of attention, with tokens for labels. A node of
/// the decoder is called by the token that it has read in maps of the decoder alone, and by the one that it says, which
/// follows, in those of cross-attention.
std::vector<AttentionMaps> attention_maps(const TranslationModel& model, const TokenPair& pair);

}  // namespace edgewise
