// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/word_ends.h"

#include <cmath>

namespace edgewise {
namespace {

constexpr std::uint64_t kGeneratorStream = 1;

}  // namespace

WordEnds::WordEnds(const TransformerOptions& options, std::uint64_t seed, RandomStream& random)
    : input_embedding(options.input_vocabulary, options.size, options.embedding_init, random),
      output_embedding(options.output_vocabulary, options.size, options.embedding_init, random) {
  RandomStream of_generator(seed, kGeneratorStream);
  generator = Linear(options.size, options.output_vocabulary, Bias::kZero, of_generator);

  if (options.tying == Tying::kAll) output_embedding.weight = input_embedding.weight;
  if (options.tying != Tying::kNone) generator.weight = output_embedding.weight;
  if (options.scale_embedding) {
    input_embedding.scale = output_embedding.scale = std::sqrt(static_cast<double>(options.size));
  }
}

}  // namespace edgewise
