// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace edgewise {

/// A student of Marian with random weights in the files of Firefox or Bergamot, and what Marian computes with it, in
/// plain loops. Shapes: R = rows, M = size of a state.
class RandomStudent {
 public:
  enum class Weights {
    kFp32,       // model.npz
    kInt8,       // intgemm8, with multipliers of the inputs that the largest number of each row gives
    kInt8Alpha,  // intgemm8, with stored multipliers of the inputs
    kNpzAlpha,   // model.npz of the floats that these integers stand for, with stored multipliers of the inputs
  };

  struct Options {
    Weights weights = Weights::kInt8Alpha;
    bool is_split = false;  // whether both sides have vocabularies of their own
    bool is_tied = true;    // whether the output projection is the table of outputs; if not, is_split
    std::int64_t size = 16;
    std::int64_t heads = 2;
    std::int64_t feed_forward = 24;
    std::int64_t encoder_layers = 2;
    std::int64_t decoder_layers = 2;
    std::int64_t input_vocabulary = 0;
    std::int64_t output_vocabulary = 0;
    bool has_gaps = false;  // whether cross-attention of the last layer has no stored multipliers
    std::uint64_t seed = 1;
  };

  explicit RandomStudent(const Options& options);

  /// Returns the options of the model as special:model.yml has them.
  std::string model_options() const;

  /// Writes the model file, and returns its name.
  std::string write_model_file(const std::filesystem::path& folder) const;

  /// Returns the log-probabilities of the output tokens; the input has its end token. They are normalised over the
  /// tokens `selected`, or over all if it is empty.
  std::vector<double> log_probabilities(const std::vector<std::int64_t>& input, const std::vector<std::int64_t>& output,
                                        const std::vector<std::int32_t>& selected = {}) const;

  /// Returns the bytes of the model file, which is no npz file.
  std::string binary_file() const;

 private:
  using Rows = std::vector<std::vector<double>>;  // [R, M]

  struct Matrix {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::vector<float> values;  // [rows, columns]; with 8 bits, integers
    float multiplier = 0;       // of 8 bits; 0: fp32
    float alpha = 0;            // multiplier of the inputs; 0: none

    double weight(std::int64_t row, std::int64_t column) const;
  };

  const std::string& table(bool is_output) const;
  const std::string& output_matrix() const;
  void add_matrix(const std::string& name, std::int64_t rows, std::int64_t columns, float alpha);
  void add_vector(const std::string& name, std::int64_t size, float centre);
  void add_norm(const std::string& prefix);
  void add_attention(const std::string& prefix, bool has_multipliers = true);
  void add_feed_forward(const std::string& prefix);

  std::vector<double> multiply(const Matrix& matrix, const std::vector<double>& x, bool is_transposed) const;
  Rows linear(const std::string& prefix, const std::string& suffix, const Rows& x) const;
  Rows add_and_norm(const std::string& prefix, const Rows& x, const Rows& y) const;
  Rows embed(bool is_output, const std::vector<std::int64_t>& tokens) const;
  Rows attend(const std::string& prefix, const Rows& x, const Rows& source) const;
  Rows feed_forward(const std::string& prefix, const Rows& x) const;
  Rows recur(const std::string& prefix, const Rows& x) const;

  Options options_;
  std::map<std::string, Matrix> matrices_;
  std::map<std::string, std::vector<float>> vectors_;
  std::uint64_t drawn_ = 0;
};

}  // namespace edgewise
