// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include "edgewise/models/transformer.h"

namespace edgewise {

/// The reference for Transformer: padded tensors and masks in plain ATen, without a graph. The reference shares only
/// the parameters with the model. Shapes: B = sentences, N = padded input, T = padded output.
class DenseTransformer {
 public:
  explicit DenseTransformer(const Transformer& model) : options_(model.options()) {
    visit_parameters(model, "",
                     [this](const std::string& name, const at::Tensor& tensor) { parameter_[name] = tensor; });
  }

  /// Masks are 1 where attention is allowed: [B, 1 or N, N].
  at::Tensor encode(const at::Tensor& tokens_BN, const at::Tensor& mask) const {
    at::Tensor x = embed("input_embedding", tokens_BN, mask.select(1, 0).sum(-1));
    for (std::int64_t i = 0; i < options_.encoder_layers; ++i) {
      const std::string layer = "encoder.layers." + std::to_string(i) + ".";
      x = add_attention(layer + "self_attention", x, x, mask, /*is_cross=*/false);
      x = add_feed_forward(layer + "feed_forward", x);
    }
    return options_.final_norm ? norm("encoder.norm", x) : x;
  }

  /// Returns logits, [B, T, C].
  at::Tensor decode(const at::Tensor& tokens_BT, const at::Tensor& mask_BTT, const at::Tensor& encoded_BNM,
                    const at::Tensor& input_mask) const {
    at::Tensor x = embed("output_embedding", tokens_BT);
    for (std::int64_t i = 0; i < options_.decoder_layers; ++i) {
      const std::string layer = "decoder.layers." + std::to_string(i) + ".";
      x = options_.has_ssru() ? add_ssru(layer + "ssru", x)
                              : add_attention(layer + "self_attention", x, x, mask_BTT, /*is_cross=*/false);
      x = add_attention(layer + "cross_attention", x, encoded_BNM, input_mask, /*is_cross=*/true);
      x = add_feed_forward(layer + "feed_forward", x);
    }
    return linear("generator", options_.final_norm ? norm("decoder.norm", x) : x);
  }

 private:
  at::Tensor add_ssru(const std::string& name, const at::Tensor& x_BTM) const {
    const bool is_pre = options_.norm_placement == NormPlacement::kPre;
    const at::Tensor read_BTM = is_pre ? norm(name + "_norm", x_BTM) : x_BTM;
    const at::Tensor gate_BTM = 1 / (1 + (-linear(name + ".forget", read_BTM)).exp());
    const at::Tensor value_BTM = linear(name + ".input", read_BTM);
    at::Tensor cell_BM = at::zeros_like(x_BTM.select(1, 0));
    at::Tensor sum_BTM = x_BTM.clone();
    for (std::int64_t t = 0; t < x_BTM.size(1); ++t) {
      const at::Tensor gate_BM = gate_BTM.select(1, t);
      cell_BM = gate_BM * cell_BM + (1 - gate_BM) * value_BTM.select(1, t);
      sum_BTM.select(1, t).add_(cell_BM.clamp_min(0));
    }
    return is_pre ? sum_BTM : norm(name + "_norm", sum_BTM);
  }

  at::Tensor linear(const std::string& name, const at::Tensor& x) const {
    const at::Tensor product = at::matmul(x, parameter_.at(name + ".weight").t());
    const auto bias = parameter_.find(name + ".bias");
    return bias == parameter_.end() ? product : product + bias->second;
  }

  at::Tensor activate(const at::Tensor& x) const {
    switch (options_.activation) {
      case Activation::kRelu:
        return x.relu();
      case Activation::kGelu:
        return 0.5 * x * (1.0 + (x / std::sqrt(2.0)).erf());
      case Activation::kSilu:
        return x * x.sigmoid();
      case Activation::kGeluTanh:
        return 0.5 * x * (1.0 + (std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x.pow(3))).tanh());
    }
    return x;
  }

  at::Tensor norm(const std::string& name, const at::Tensor& x) const {
    const bool is_centred = options_.norm != NormKind::kRmsNorm;
    const at::Tensor centred = is_centred ? x - x.mean(-1, /*keepdim=*/true) : x;
    const at::Tensor squares = centred.pow(2).sum(-1, /*keepdim=*/true);
    const auto n = static_cast<double>(x.size(-1));
    const at::Tensor deviation = options_.norm == NormKind::kStdNorm
                                     ? (squares / (n - 1)).sqrt() + options_.norm_epsilon
                                     : (squares / n + options_.norm_epsilon).sqrt();
    const at::Tensor scaled = centred / deviation * parameter_.at(name + ".gain");
    const auto bias = parameter_.find(name + ".bias");
    return bias == parameter_.end() ? scaled : scaled + bias->second;
  }

  /// Returns element j of the vector of a position, of `size` elements.
  double encode_position(std::int64_t position, std::int64_t j, std::int64_t size) const {
    const auto exponent = static_cast<double>(options_.positions == PositionKind::kSinusoidal ? j - j % 2 : 2 * j);
    const double angle = static_cast<double>(position) / std::pow(10000.0, exponent / static_cast<double>(size));
    return j % 2 == 0 ? std::sin(angle) : std::cos(angle);
  }

  /// The lengths of inputs count for mirrored positions; an output has none.
  at::Tensor embed(const std::string& name, const at::Tensor& tokens_BT, const at::Tensor& length_B = {}) const {
    const double scale = options_.scale_embedding ? std::sqrt(static_cast<double>(options_.size)) : 1.0;
    const at::Tensor vectors = parameter_.at(name + ".weight").index({tokens_BT}) * scale;
    if (!has_position_vectors(options_.positions)) return vectors;
    at::Tensor positions = at::zeros_like(vectors);
    const std::int64_t size = options_.mirror_positions ? options_.size / 2 : options_.size;
    for (std::int64_t b = 0; b < positions.size(0); ++b) {
      const std::int64_t last = length_B.defined() ? length_B[b].item<std::int64_t>() - 1 : -1;
      for (std::int64_t t = 0; t < positions.size(1); ++t) {
        for (std::int64_t j = 0; j < options_.size; ++j) {
          const std::int64_t position = j >= size && t < last ? last - 1 - t : t;
          positions[b][t][j] = encode_position(position, j % size, size);
        }
      }
    }
    return vectors + positions;
  }

  at::Tensor split_heads(const at::Tensor& x) const {
    const std::int64_t head_size = options_.size / options_.heads;
    const at::Tensor heads = x.view({x.size(0), x.size(1), -1, head_size}).transpose(1, 2);
    return heads.repeat_interleave(options_.heads / heads.size(1), 1);
  }

  /// Multiplies the pairs (x[k], x[k + half]), as complex numbers, by exp(i position base^(-k / half)).
  at::Tensor rotate(const at::Tensor& x_BHTK, bool is_cross) const {
    if (options_.positions != PositionKind::kRotary || is_cross) return x_BHTK;
    const std::int64_t half = x_BHTK.size(3) / 2;
    const at::Tensor frequency =
        scale_frequencies(at::pow(options_.rotary.base, -at::arange(half, at::kDouble) / static_cast<double>(half)));
    const at::Tensor angle = at::arange(x_BHTK.size(2), at::kDouble).unsqueeze(1) * frequency;
    const at::Tensor pairs = at::complex(x_BHTK.narrow(3, 0, half), x_BHTK.narrow(3, half, half));
    const at::Tensor turned = pairs * at::polar(at::ones_like(angle), angle);
    return at::cat({at::real(turned), at::imag(turned)}, 3);
  }

  at::Tensor scale_frequencies(const at::Tensor& frequency) const {
    const RotaryOptions& rotary = options_.rotary;
    const at::Tensor divided = frequency / rotary.factor;
    if (rotary.scaling == RotaryScaling::kNone) return frequency;
    if (rotary.scaling == RotaryScaling::kLinear) return divided;
    // As transformers does it: by wave lengths, with three cases.
    const at::Tensor length = 2 * std::numbers::pi / frequency;
    const auto trained = static_cast<double>(rotary.trained_length);
    const at::Tensor smooth =
        (trained / length - rotary.low_frequency) / (rotary.high_frequency - rotary.low_frequency);
    const at::Tensor between = (1 - smooth) * divided + smooth * frequency;
    return at::where(length > trained / rotary.low_frequency, divided,
                     at::where(length < trained / rotary.high_frequency, frequency, between));
  }

  /// Returns what is added to scores: [heads, T, T] for two heads, or zeros.
  at::Tensor bias(const std::string& side, std::int64_t length) const {
    at::Tensor bias = at::zeros({options_.heads, length, length}, at::kDouble);
    for (std::int64_t to = 0; to < length; ++to) {
      for (std::int64_t from = 0; from < length; ++from) {
        if (options_.positions == PositionKind::kAlibi) {
          bias[0][to][from] = -static_cast<double>(std::abs(to - from)) / 16;   // 2^-4
          bias[1][to][from] = -static_cast<double>(std::abs(to - from)) / 256;  // 2^-8
        } else if (options_.positions == PositionKind::kT5) {
          bias.select(1, to).select(1, from).copy_(
              parameter_.at(side + ".position_bias")[bucket(to - from, side == "decoder")]);
        }
      }
    }
    return bias;
  }

  /// Returns the bucket of a distance for 8 buckets and a largest distance of 5.
  static std::int64_t bucket(std::int64_t distance, bool is_causal) {
    // By hand: causal distances 0 to 3 have buckets of their own, and then floor(4 + 4 ln(d / 4) / ln(5 / 4)), at most
    // 7. In the encoder distances 0 and 1 do, and then floor(2 + 2 ln(d / 2) / ln(5 / 2)), at most 3; later keys have
    // buckets from 4 on.
    if (is_causal) return distance < 0 ? 0 : distance < 5 ? distance : 7;
    const std::int64_t magnitude = std::abs(distance);
    return (distance < 0 ? 4 : 0) + (magnitude < 3 ? magnitude : magnitude < 4 ? 2 : 3);
  }

  /// Returns what is added to scores of cross-attention, [B, heads, T, N], for a mask [B, 1, N].
  at::Tensor cross_bias(std::int64_t outputs, const at::Tensor& mask) const {
    const at::Tensor table = parameter_.at("decoder.cross_position_bias");
    at::Tensor bias = at::zeros({mask.size(0), options_.heads, outputs, mask.size(2)}, at::kDouble);
    for (std::int64_t b = 0; b < mask.size(0); ++b) {
      const std::int64_t last = mask[b].sum().item<std::int64_t>() - 1;
      for (std::int64_t input = 0; input < mask.size(2); ++input) {
        const std::int64_t place = options_.mirror_positions && input < last ? last - 1 - input : input;
        for (std::int64_t output = 0; output < outputs; ++output) {
          bias.select(0, b).select(1, output).select(1, input).copy_(
              table[bucket(output - place, /*is_causal=*/false)]);
        }
      }
    }
    return bias;
  }

  at::Tensor attention(const std::string& name, const at::Tensor& destinations, const at::Tensor& sources,
                       const at::Tensor& mask) const {
    const bool is_cross = name.find("cross") != std::string::npos;
    const at::Tensor query = rotate(split_heads(linear(name + ".query", destinations)), is_cross);
    const at::Tensor key = rotate(split_heads(linear(name + ".key", sources)), is_cross);
    const at::Tensor value = split_heads(linear(name + ".value", sources));
    at::Tensor scores = at::matmul(query, key.transpose(-2, -1)) / std::sqrt(static_cast<double>(key.size(-1)));
    if (options_.log_scale) {
      scores = scores * mask.sum(-1, /*keepdim=*/true).to(at::kDouble).clamp_min(1).log().unsqueeze(1);
    }
    if (options_.clamp) scores = scores.clamp(-*options_.clamp, *options_.clamp);
    if (!is_cross) scores = scores + bias(name.starts_with("decoder") ? "decoder" : "encoder", key.size(2));
    if (is_cross && options_.cross_distance) scores = scores + cross_bias(query.size(2), mask);
    const at::Tensor weights = at::softmax(scores.masked_fill(mask.unsqueeze(1) == 0, -1e9), -1);
    return linear(name + ".output", at::matmul(weights, value).transpose(1, 2).flatten(2));
  }

  at::Tensor add_attention(const std::string& name, const at::Tensor& x, const at::Tensor& other,
                           const at::Tensor& mask, bool is_cross) const {
    if (options_.norm_placement == NormPlacement::kPost) {
      return norm(name + "_norm", x + attention(name, x, is_cross ? other : x, mask));
    }
    const at::Tensor normed = norm(name + "_norm", x);
    return x + attention(name, normed, is_cross ? other : normed, mask);
  }

  at::Tensor add_feed_forward(const std::string& name, const at::Tensor& x) const {
    const auto feed = [&](const at::Tensor& y) {
      const at::Tensor inner = linear(name + ".inner", y);
      return linear(name + ".outer",
                    options_.feed_forward_gate ? activate(linear(name + ".gate", y)) * inner : activate(inner));
    };
    return options_.norm_placement == NormPlacement::kPost ? norm(name + "_norm", x + feed(x))
                                                           : x + feed(norm(name + "_norm", x));
  }

  TransformerOptions options_;
  std::map<std::string, at::Tensor> parameter_;
};

}  // namespace edgewise
