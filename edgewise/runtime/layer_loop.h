// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace edgewise {

/// Runs rows through the layers of an encoder or a decoder, over the sublayers of a backend: SublayerRunner, or
/// GpuSublayers. The rows have the states that enter the first layer; their input becomes final_norm(states).
/// attend(i, next) runs the attention of layer i, one or two sublayers; `next` is the norm behind the last of them.
template <class Sublayers, class Layer, class Norm, class Attend>
void run_layers(Sublayers& rows, const std::vector<Layer>& layers, const Norm& final_norm, Attend attend) {
  rows.prepare_input(rows.pre_norm(layers.front().self_attention.norm));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    attend(i, rows.pre_norm(layers[i].feed_forward.norm));
    const bool is_last = i + 1 == layers.size();
    rows.feed_forward(layers[i].feed_forward, is_last ? final_norm : rows.pre_norm(layers[i + 1].self_attention.norm));
  }
}

}  // namespace edgewise
