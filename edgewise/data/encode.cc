// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/encode.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

using Tokens = std::vector<std::int64_t>;

bool is_longer(const Tokens& tokens, const EncodeOptions& options) {
  return options.max_length > 0 && static_cast<std::int64_t>(tokens.size()) > options.max_length;
}

void truncate(Tokens& tokens, const EncodeOptions& options) {
  if (is_longer(tokens, options)) tokens.resize(static_cast<std::size_t>(options.max_length));
}

TokenPair with_special_tokens(Tokens input, const Tokens& output, const EncodeOptions& options) {
  TokenPair pair = {.input = std::move(input), .output = {kBeginToken}};
  if (options.end_input) pair.input.push_back(kEndToken);
  pair.output.insert(pair.output.end(), output.begin(), output.end());
  pair.output.push_back(kEndToken);
  return pair;
}

}  // namespace

EncodeOptions encode_options(const DataOptions& data) {
  return {.max_length = data.max_length, .too_long = data.too_long, .end_input = data.end_input};
}

EncodedPairs encode_pairs(const SentencePairs& pairs, const Vocabulary& input_vocabulary,
                          const Vocabulary& output_vocabulary, const EncodeOptions& options) {
  EncodedPairs encoded;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    Tokens input = input_vocabulary.encode(pairs.inputs[i]);
    Tokens output = output_vocabulary.encode(pairs.outputs[i]);
    if (input.empty() || output.empty()) {
      ++encoded.empty;
      continue;
    }
    if (is_longer(input, options) || is_longer(output, options)) {
      ++encoded.too_long;
      if (options.too_long == LongSentences::kSkip) continue;
      truncate(input, options);
      truncate(output, options);
    }
    encoded.pairs.push_back(with_special_tokens(std::move(input), output, options));
    encoded.kept.push_back(static_cast<std::int64_t>(i));
  }
  check(!encoded.pairs.empty(),
        "encode_pairs: none of {} pairs is left, needs at least one; {} have an empty side and {} a sentence of more "
        "than "
        "{} tokens",
        pairs.size(), encoded.empty, encoded.too_long, options.max_length);
  return encoded;
}

}  // namespace edgewise
