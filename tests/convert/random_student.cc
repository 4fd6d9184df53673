// SPDX-License-Identifier: Apache-2.0
#include "tests/convert/random_student.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "edgewise/base/random.h"
#include "edgewise/convert/marian_binary.h"
#include "edgewise/convert/npz.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

constexpr const char* kSides[] = {"encoder", "decoder"};
const std::string kOutputBias = "decoder_ff_logit_out_b";
const std::string kProjection = "decoder_ff_logit_out_W";

}  // namespace

double RandomStudent::Matrix::weight(std::int64_t row, std::int64_t column) const {
  const double value = values[static_cast<std::size_t>(row * columns + column)];
  return multiplier == 0 ? value : value / multiplier;
}

RandomStudent::RandomStudent(const Options& options) : options_(options), drawn_(options.seed * 1000) {
  const float alpha = 30;
  if (options.is_split) {
    add_matrix("encoder_Wemb", options.input_vocabulary, options.size, 0);
    add_matrix("decoder_Wemb", options.output_vocabulary, options.size, options.is_tied ? alpha : 0);
    if (!options.is_tied) add_matrix(kProjection, options.size, options.output_vocabulary, alpha);
  } else {
    add_matrix("Wemb", options.input_vocabulary, options.size, alpha);
  }
  add_vector(kOutputBias, options.output_vocabulary, 0);
  for (const char* side : kSides) {
    const bool is_encoder = side == kSides[0];
    for (std::int64_t i = 1; i <= (is_encoder ? options.encoder_layers : options.decoder_layers); ++i) {
      const std::string layer = fmt::format("{}_l{}_", side, i);
      if (is_encoder) {
        add_attention(layer + "self");
      } else {
        add_matrix(layer + "rnn_W", options.size, options.size, alpha);
        add_matrix(layer + "rnn_Wf", options.size, options.size, alpha);
        add_vector(layer + "rnn_bf", options.size, 0);
        add_norm(layer + "rnn_ffn");
        add_attention(layer + "context", /*has_multipliers=*/!options.has_gaps || i < options.decoder_layers);
      }
      add_feed_forward(layer + "ffn");
    }
  }
}

const std::string& RandomStudent::table(bool is_output) const {
  static const std::string kShared = "Wemb", kInput = "encoder_Wemb", kOutput = "decoder_Wemb";
  return !options_.is_split ? kShared : is_output ? kOutput : kInput;
}

const std::string& RandomStudent::output_matrix() const {
  return options_.is_tied ? table(/*is_output=*/true) : kProjection;
}

void RandomStudent::add_matrix(const std::string& name, std::int64_t rows, std::int64_t columns, float alpha) {
  RandomStream random(++drawn_);
  Matrix& matrix = matrices_[name];
  matrix = {rows, columns, std::vector<float>(static_cast<std::size_t>(rows * columns))};
  const double deviation = 1 / std::sqrt(static_cast<double>(options_.size));
  for (float& value : matrix.values) value = static_cast<float>(random.normal() * deviation);
  if (options_.weights == Weights::kFp32) return;
  float largest = 0;
  for (const float value : matrix.values) largest = std::max(largest, std::abs(value));
  matrix.multiplier = 127 / largest;
  for (float& value : matrix.values) value = std::nearbyint(value * matrix.multiplier);
  if (options_.weights != Weights::kInt8) matrix.alpha = alpha;
}

void RandomStudent::add_vector(const std::string& name, std::int64_t size, float centre) {
  RandomStream random(++drawn_);
  std::vector<float>& values = vectors_[name];
  for (std::int64_t i = 0; i < size; ++i) values.push_back(centre + 0.3F * static_cast<float>(random.normal()));
}

void RandomStudent::add_norm(const std::string& prefix) {
  add_vector(prefix + "_ln_scale", options_.size, 1);
  add_vector(prefix + "_ln_bias", options_.size, 0);
}

void RandomStudent::add_attention(const std::string& prefix, bool has_multipliers) {
  const float read =
      prefix.ends_with("self") ? 40 : 45;  // one product computes q, k and v of self-attention, or k and v
  for (const char* part : {"q", "k", "v", "o"}) {
    const float alpha = !has_multipliers ? 0 : *part == 'o' ? 50 : read;
    add_matrix(fmt::format("{}_W{}", prefix, part), options_.size, options_.size, alpha);
    add_vector(fmt::format("{}_b{}", prefix, part), options_.size, 0);
  }
  add_norm(prefix + "_Wo");
}

void RandomStudent::add_feed_forward(const std::string& prefix) {
  add_matrix(prefix + "_W1", options_.size, options_.feed_forward, 35);
  add_vector(prefix + "_b1", options_.feed_forward, 0);
  add_matrix(prefix + "_W2", options_.feed_forward, options_.size, 60);
  add_vector(prefix + "_b2", options_.size, 0);
  add_norm(prefix + "_ffn");
}

/// The keys are those of Firefox's models, with the values that all of them have.
std::string RandomStudent::model_options() const {
  constexpr std::string_view kConstants = R"(
bert-train-type-embeddings: true
bert-type-vocab-size: 2
dec-cell: ssru
dec-cell-base-depth: 2
dec-cell-high-depth: 1
dim-rnn: 1024
enc-cell: gru
enc-cell-depth: 1
enc-type: bidirectional
factors-combine: sum
factors-dim-emb: 0
input-types:
  []
layer-normalization: false
lemma-dependency: ""
lemma-dim-emb: 0
output-omit-bias: false
right-left: false
skip: false
tied-embeddings-src: false
transformer-aan-activation: swish
transformer-aan-depth: 2
transformer-aan-nogate: false
transformer-decoder-autoreg: rnn
transformer-decoder-dim-ffn: 0
transformer-decoder-ffn-depth: 0
transformer-dim-aan: 2048
transformer-ffn-activation: relu
transformer-ffn-depth: 2
transformer-guided-alignment-layer: last
transformer-no-affine: false
transformer-no-bias: false
transformer-no-projection: false
transformer-pool: false
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-postprocess-top: ""
transformer-preprocess: ""
transformer-rnn-projection: false
transformer-tied-layers:
  []
transformer-train-position-embeddings: false
type: transformer
ulr: false
ulr-dim-emb: 0
ulr-trainable-transformation: false
version: v1.12.14 2d067af 2024-02-16 11:44:13 -0500
)";
  return fmt::format(
      "dec-depth: {}\ndim-emb: {}\ndim-vocabs:\n  - {}\n  - {}\nenc-depth: {}\ntied-embeddings: {}\n"
      "tied-embeddings-all: {}\ntransformer-dim-ffn: {}\ntransformer-heads: {}{}",
      options_.decoder_layers, options_.size, options_.input_vocabulary, options_.output_vocabulary,
      options_.encoder_layers, options_.is_split && options_.is_tied, !options_.is_split, options_.feed_forward,
      options_.heads, kConstants);
}

namespace {

TensorInfo text_array(const std::string& text) {
  return {"special:model.yml", DType::kI8, {std::ssize(text)}, std::as_bytes(std::span(text))};
}

}  // namespace

std::string RandomStudent::binary_file() const {
  const std::string text = model_options() + '\0';
  std::vector<TensorInfo> tensors;
  std::vector<IntgemmArray> arrays;
  std::vector<std::vector<float>> alphas;
  alphas.reserve(matrices_.size());
  for (const auto& [name, values] : vectors_) {
    tensors.push_back({name, DType::kF32, {1, std::ssize(values)}, std::as_bytes(std::span(values))});
  }
  for (const auto& [name, matrix] : matrices_) {
    IntgemmArray& array = arrays.emplace_back();
    array = {name, {matrix.rows, matrix.columns}, {}, matrix.multiplier};
    for (const float value : matrix.values) array.values.push_back(static_cast<std::int8_t>(value));
    if (matrix.alpha == 0) continue;
    if (name.find("Wemb") != std::string::npos) {
      // Marian stores this number in 8 bits, too, and for a shared vocabulary once more with the name of no matrix.
      arrays.push_back({name + "_QuantMultA", {1}, {127}, 127 / matrix.alpha});
      if (options_.is_split) continue;
    }
    const std::string owner = name == "Wemb" || name == kProjection ? "none" : name;
    alphas.push_back({matrix.alpha});
    tensors.push_back({owner + "_QuantMultA", DType::kF32, {1}, std::as_bytes(std::span(alphas.back()))});
  }
  tensors.push_back(text_array(text));
  return serialize_marian_binary(tensors, arrays);
}

std::string RandomStudent::write_model_file(const std::filesystem::path& folder) const {
  if (options_.weights == Weights::kInt8 || options_.weights == Weights::kInt8Alpha) {
    const std::string name =
        options_.weights == Weights::kInt8 ? "model.xxen.intgemm8.bin" : "model.xxen.intgemm.alphas.bin";
    write_file_atomically(folder / name, binary_file(), "test");
    return name;
  }
  const std::string text = model_options() + '\0';
  std::vector<TensorInfo> tensors = {text_array(text)};
  for (const auto& [name, values] : vectors_) {
    tensors.push_back({name, DType::kF32, {1, std::ssize(values)}, std::as_bytes(std::span(values))});
  }
  std::vector<std::vector<float>> weights;
  weights.reserve(matrices_.size());
  for (const auto& [name, matrix] : matrices_) {
    std::vector<float>& floats = weights.emplace_back(matrix.values);
    if (matrix.multiplier != 0) {
      for (float& value : floats) value /= matrix.multiplier;
    }
    tensors.push_back({name, DType::kF32, {matrix.rows, matrix.columns}, std::as_bytes(std::span(floats))});
    if (matrix.alpha == 0) continue;
    tensors.push_back({name + "_QuantMultA", DType::kF32, {1}, std::as_bytes(std::span(&matrix.alpha, 1))});
  }
  write_file_atomically(folder / "model.npz", serialize_npz(tensors), "test");
  return "model.npz";
}

/// Returns x · matrix, or with its transpose. In 8 bits, x is rounded to integers of at most 127 in magnitude.
std::vector<double> RandomStudent::multiply(const Matrix& matrix, const std::vector<double>& x,
                                            bool is_transposed) const {
  const std::int64_t outputs = is_transposed ? matrix.rows : matrix.columns;
  std::vector<double> rounded = x;
  if (matrix.multiplier != 0) {
    double largest = 0;
    for (const double value : x) largest = std::max(largest, std::abs(value));
    const double alpha = matrix.alpha != 0 ? matrix.alpha : 127 / largest;
    for (double& value : rounded) value = std::clamp(std::nearbyint(value * alpha), -127.0, 127.0) / alpha;
  }
  std::vector<double> y(static_cast<std::size_t>(outputs));
  for (std::int64_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto in = static_cast<std::int64_t>(i);
      y[static_cast<std::size_t>(o)] += rounded[i] * (is_transposed ? matrix.weight(o, in) : matrix.weight(in, o));
    }
  }
  return y;
}

RandomStudent::Rows RandomStudent::linear(const std::string& prefix, const std::string& suffix, const Rows& x) const {
  Rows y;
  const auto bias = vectors_.find(fmt::format("{}_b{}", prefix, suffix));
  for (const std::vector<double>& row : x) {
    y.push_back(multiply(matrices_.at(fmt::format("{}_W{}", prefix, suffix)), row, /*is_transposed=*/false));
    for (std::size_t i = 0; i < y.back().size() && bias != vectors_.end(); ++i) y.back()[i] += bias->second[i];
  }
  return y;
}

RandomStudent::Rows RandomStudent::add_and_norm(const std::string& prefix, const Rows& x, const Rows& y) const {
  const std::vector<float>& scale = vectors_.at(prefix + "_ln_scale");
  const std::vector<float>& bias = vectors_.at(prefix + "_ln_bias");
  Rows normed = x;
  for (std::size_t r = 0; r < x.size(); ++r) {
    const auto size = static_cast<double>(x[r].size());
    double mean = 0, variance = 0;
    for (std::size_t m = 0; m < x[r].size(); ++m) mean += (x[r][m] + y[r][m]) / size;
    for (std::size_t m = 0; m < x[r].size(); ++m) variance += std::pow(x[r][m] + y[r][m] - mean, 2) / size;
    for (std::size_t m = 0; m < x[r].size(); ++m) {
      normed[r][m] = (x[r][m] + y[r][m] - mean) / std::sqrt(variance + 1e-6) * scale[m] + bias[m];
    }
  }
  return normed;
}

/// A negative token has a vector of zeros.
RandomStudent::Rows RandomStudent::embed(bool is_output, const std::vector<std::int64_t>& tokens) const {
  const Matrix& vectors = matrices_.at(table(is_output));
  const std::int64_t half = options_.size / 2;
  Rows x(tokens.size(), std::vector<double>(static_cast<std::size_t>(options_.size)));
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    for (std::int64_t m = 0; m < options_.size; ++m) {
      const double exponent = static_cast<double>(m % half) / static_cast<double>(half - 1);
      const double angle = static_cast<double>(t) / std::pow(10000.0, exponent);
      const double vector = tokens[t] < 0 ? 0 : vectors.weight(tokens[t], m);
      x[t][static_cast<std::size_t>(m)] =
          vector * std::sqrt(static_cast<double>(options_.size)) + (m < half ? std::sin(angle) : std::cos(angle));
    }
  }
  return x;
}

RandomStudent::Rows RandomStudent::attend(const std::string& prefix, const Rows& x, const Rows& source) const {
  const Rows query = linear(prefix, "q", x);
  const Rows key = linear(prefix, "k", source);
  const Rows value = linear(prefix, "v", source);
  Rows averages(x.size(), std::vector<double>(static_cast<std::size_t>(options_.size)));
  const auto head_size = static_cast<std::size_t>(options_.size / options_.heads);
  for (std::size_t r = 0; r < x.size(); ++r) {
    for (std::size_t head = 0; head < static_cast<std::size_t>(options_.heads); ++head) {
      std::vector<double> weights;
      double sum = 0;
      for (const std::vector<double>& row : key) {
        double score = 0;
        for (std::size_t k = head * head_size; k < (head + 1) * head_size; ++k) score += query[r][k] * row[k];
        sum += weights.emplace_back(std::exp(score / std::sqrt(static_cast<double>(head_size))));
      }
      for (std::size_t s = 0; s < source.size(); ++s) {
        for (std::size_t k = head * head_size; k < (head + 1) * head_size; ++k) {
          averages[r][k] += weights[s] / sum * value[s][k];
        }
      }
    }
  }
  return add_and_norm(prefix + "_Wo", x, linear(prefix, "o", averages));
}

RandomStudent::Rows RandomStudent::feed_forward(const std::string& prefix, const Rows& x) const {
  Rows inner = linear(prefix, "1", x);
  for (std::vector<double>& row : inner) {
    for (double& value : row) value = std::max(value, 0.0);
  }
  return add_and_norm(prefix + "_ffn", x, linear(prefix, "2", inner));
}

RandomStudent::Rows RandomStudent::recur(const std::string& prefix, const Rows& x) const {
  const Rows forget = linear(prefix, "f", x);
  const Rows input = linear(prefix, "", x);
  Rows result = x;
  std::vector<double> cell(static_cast<std::size_t>(options_.size));
  for (std::size_t r = 0; r < x.size(); ++r) {
    for (std::size_t m = 0; m < cell.size(); ++m) {
      const double f = 1 / (1 + std::exp(-forget[r][m]));
      cell[m] = f * cell[m] + (1 - f) * input[r][m];
      result[r][m] = std::max(cell[m], 0.0);
    }
  }
  return add_and_norm(prefix + "_ffn", x, result);
}

std::vector<double> RandomStudent::log_probabilities(const std::vector<std::int64_t>& input,
                                                     const std::vector<std::int64_t>& output,
                                                     const std::vector<std::int32_t>& selected) const {
  Rows encoded = embed(/*is_output=*/false, input);
  for (std::int64_t i = 1; i <= options_.encoder_layers; ++i) {
    const std::string layer = fmt::format("encoder_l{}_", i);
    encoded = feed_forward(layer + "ffn", attend(layer + "self", encoded, encoded));
  }
  std::vector<std::int64_t> before = {-1};
  before.insert(before.end(), output.begin(), output.end() - 1);
  Rows x = embed(/*is_output=*/true, before);
  for (std::int64_t i = 1; i <= options_.decoder_layers; ++i) {
    const std::string layer = fmt::format("decoder_l{}_", i);
    x = feed_forward(layer + "ffn", attend(layer + "context", recur(layer + "rnn", x), encoded));
  }
  std::vector<double> found;
  for (std::size_t t = 0; t < output.size(); ++t) {
    std::vector<double> logits = multiply(matrices_.at(output_matrix()), x[t], /*is_transposed=*/options_.is_tied);
    double sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      logits[i] += vectors_.at(kOutputBias)[i];
      const bool counts = selected.empty() || std::ranges::binary_search(selected, static_cast<std::int32_t>(i));
      if (counts) sum += std::exp(logits[i]);
    }
    found.push_back(logits[static_cast<std::size_t>(output[t])] - std::log(sum));
  }
  return found;
}

}  // namespace edgewise
