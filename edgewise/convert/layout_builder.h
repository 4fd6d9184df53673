// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/convert/tensor_layout.h"
#include "edgewise/options/transformer_options.h"

namespace edgewise {

/// Collects the tensors of a model part by part. A derived class names the tensors of one system.
class LayoutBuilder {
 public:
  explicit LayoutBuilder(const TransformerOptions& options) : options_(options) {}
  LayoutBuilder(const LayoutBuilder&) = delete;
  LayoutBuilder& operator=(const LayoutBuilder&) = delete;
  virtual ~LayoutBuilder() = default;

  /// Returns the tensors of the embeddings, the encoder and the decoder.
  std::vector<TensorLayout> run() &&;

 protected:
  virtual void add_embeddings() = 0;

  /// Adds layer `i` of a side, "encoder" or "decoder"; the names of its parameters begin with `ours`.
  virtual void add_layer(std::string_view side, std::int64_t i, const std::string& ours) = 0;

  /// Adds the norm `ours` behind the last layer of a side.
  virtual void add_final_norm(std::string_view side, const std::string& ours) = 0;

  /// Adds the tensor `theirs` with the rows of the parameters `ours`.
  void add(std::string theirs, std::vector<std::string> ours, Orientation orientation = Orientation::kRows);

  const TransformerOptions& options() const { return options_; }

 private:
  void add_side(std::string_view side, std::int64_t layers);

  const TransformerOptions& options_;
  std::vector<TensorLayout> layout_;
};

}  // namespace edgewise
