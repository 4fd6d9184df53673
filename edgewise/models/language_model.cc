// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/language_model.h"

#include "edgewise/base/error.h"

namespace edgewise {

LanguageModel::LanguageModel(const TransformerOptions& options, std::uint64_t seed)
    : options_(check_options(options, "LanguageModel")), decoder_patterns_(options.decoder_patterns()) {
  RandomStream random(seed);
  vocabulary_ = VocabularyLayers(options, seed, random);
  decoder_ = Encoder(options, options.decoder_layers, /*is_causal=*/true, random);
  if (has_formula(options.positions)) {
    positions_ = SidePositions(PositionEncodings(options.size, options.positions));
  } else if (options.positions == PositionKind::kLearned) {
    RandomStream positions_random(seed, /*stream=*/2);
    positions_ = SidePositions(options.max_positions, options.size, options.embedding_init, positions_random);
  }
}

at::Tensor LanguageModel::embed(std::span<const std::int64_t> tokens, std::span<const std::int64_t> positions,
                                Pass& pass) const {
  check(tokens.size() == positions.size(), "LanguageModel: {} tokens have {} positions, needs one each", tokens.size(),
        positions.size());
  return vocabulary_.output_embedding(tokens, positions_, positions, options_.dropout, pass);
}

at::Tensor LanguageModel::decode(const Batch& batch, Pass& pass) const {
  check(batch.input_tokens.empty(), "LanguageModel: batch has {} input tokens, needs none", batch.input_tokens.size());
  const LayerRelations relations(decoder_patterns_, batch.graph.relation(kDecoderDecoder), batch.output_lengths);
  return decoder_(relations, embed(batch.output_tokens, batch.output_positions, pass), pass, batch.output_positions);
}

at::Tensor LanguageModel::compute_logits(const at::Tensor& state_DM) const {
  return vocabulary_.output_projection(state_DM);
}

at::Tensor LanguageModel::forward(const Batch& batch, Pass& pass) const { return compute_logits(decode(batch, pass)); }

BatchLoss LanguageModel::loss(const Batch& batch, const LossOptions& options, const AddedLosses& added,
                              Pass& pass) const {
  return vocabulary_.loss(decode(batch, pass), batch.labels, added.consistency, options);
}

}  // namespace edgewise
