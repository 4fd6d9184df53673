// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "edgewise/kernels/dropout/dropout_reference.h"
#include "edgewise/kernels/embedding/embed.h"

namespace edgewise::kernels::reference {

template <typename T>
void embed_forward(const EmbedForward<T>& p) {
  const TokenScales<T> scales(p.scale, p.word_dropout);
  for (std::int64_t t = 0; t < p.num_tokens; ++t) {
    const T scale = scales.scale_of(t);
    for (std::int64_t i = 0; i < p.size; ++i) {
      const T embedding = p.weight[p.tokens[t] * p.size + i] * scale;
      p.out[t * p.size + i] =
          p.position_table == nullptr ? embedding : embedding + p.position_table[p.positions[t] * p.size + i];
    }
  }
  reference::dropout(p.dropout, p.num_tokens * p.size, p.out, p.out);
}

template <typename T>
void embed_backward(const EmbedBackward<T>& p) {
  std::vector<T> dropped(static_cast<std::size_t>(p.num_tokens * p.size));
  reference::dropout(p.dropout, p.num_tokens * p.size, p.grad_out, dropped.data());
  const TokenScales<T> scales(p.scale, p.word_dropout);
  for (std::int64_t t = 0; t < p.num_tokens; ++t) {
    const T scale = scales.scale_of(t);
    for (std::int64_t i = 0; i < p.size; ++i) {
      p.grad_weight[p.tokens[t] * p.size + i] += dropped[static_cast<std::size_t>(t * p.size + i)] * scale;
    }
  }
}

template void embed_forward(const EmbedForward<float>&);
template void embed_forward(const EmbedForward<double>&);
template void embed_backward(const EmbedBackward<float>&);
template void embed_backward(const EmbedBackward<double>&);

}  // namespace edgewise::kernels::reference
