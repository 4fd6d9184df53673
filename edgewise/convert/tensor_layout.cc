// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/tensor_layout.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

std::vector<ParameterShape> embedding_parameters(const TransformerOptions& options) {
  const std::int64_t size = options.size;
  const bool has_input = has_encoder(options.kind);
  std::vector<ParameterShape> list;
  if (has_input) list.push_back({"input_embedding.weight", {options.input_vocabulary, size}});
  if (options.tying != Tying::kAll) list.push_back({"output_embedding.weight", {options.output_vocabulary, size}});
  if (options.tying == Tying::kNone) list.push_back({"generator.weight", {options.output_vocabulary, size}});
  if (options.output_bias) list.push_back({"generator.bias", {options.output_vocabulary}});
  if (options.num_learned_positions() == 0) return list;
  if (has_input) list.push_back({"input_positions.weight", {options.max_positions, size}});
  list.push_back({"output_positions.weight", {options.max_positions, size}});
  return list;
}

using Shape = std::vector<std::int64_t>;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

Shape stored_shape(const Shape& shape, Orientation orientation) {
  switch (orientation) {
    case Orientation::kTransposed:
      return {shape[1], shape[0]};
    case Orientation::kOneRow:
      return {1, shape[0]};
    default:
      return shape;
  }
}

/// Returns a matrix [columns, rows] for a matrix [rows, columns].
std::string transpose(std::span<const std::byte> bytes, DType dtype, std::int64_t rows, std::int64_t columns) {
  return copy_strided(text_of(bytes), dtype_size(dtype), std::array{columns, rows},
                      std::array{std::int64_t{1}, columns});
}

using ShapeByName = std::unordered_map<std::string_view, const Shape*>;
using TensorByName = std::unordered_map<std::string_view, const TensorInfo*>;

/// Adds a tensor of the rows of each parameter. The elements of one row of `rows` belong to one row of a parameter.
void split_rows(const TensorInfo& rows, const std::vector<std::string>& parameters, const ShapeByName& shapes,
                std::string_view suffix, StoredTensors& imported) {
  const std::size_t row_bytes = rows.bytes.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, rows.shape[0]));
  std::size_t begin = 0;
  for (const std::string& name : parameters) {
    TensorInfo part = {name + std::string(suffix), rows.dtype, rows.shape, {}};
    part.shape[0] = shapes.at(name)->front();
    const std::size_t size = static_cast<std::size_t>(part.shape[0]) * row_bytes;
    part.bytes = rows.bytes.subspan(begin, size);
    begin += size;
    imported.tensors.push_back(std::move(part));
  }
}

void join_rows(const std::vector<std::string>& parameters, const TensorByName& tensors, StoredTensors& exported,
               TensorInfo& to) {
  std::string joined;
  to.shape[0] = 0;
  for (const std::string& name : parameters) {
    const TensorInfo& part = *tensors.at(name);
    joined += text_of(part.bytes);
    to.shape[0] += part.shape[0];
  }
  to.bytes = bytes_of(exported.keep(std::move(joined)));
}

}  // namespace

std::vector<ParameterShape> list_parameters(const TransformerOptions& options) {
  check(options.kind != ModelKind::kUniversal, "list_parameters: model.kind is universal, needs another kind");
  check(options.score == ScoreKind::kDot, "list_parameters: model.score is additive, needs dot");
  std::vector<ParameterShape> list = embedding_parameters(options);
  const auto add_linear = [&](const std::string& name, std::int64_t in, std::int64_t out, bool has_bias) {
    list.push_back({name + ".weight", {out, in}});
    if (has_bias) list.push_back({name + ".bias", {out}});
  };
  const auto add_norm = [&](const std::string& name) {
    list.push_back({name + ".gain", {options.size}});
    if (options.has_norm_bias()) list.push_back({name + ".bias", {options.size}});
  };
  const auto add_ssru = [&](const std::string& layer) {
    add_linear(layer + "ssru.forget", options.size, options.size, /*has_bias=*/true);
    add_linear(layer + "ssru.input", options.size, options.size, /*has_bias=*/false);
    add_norm(layer + "ssru_norm");
  };
  const auto add_layer = [&](const std::string& layer, std::initializer_list<const char*> attentions) {
    for (const char* attention : attentions) {
      for (const std::string_view part : {"query", "key", "value", "output"}) {
        const bool is_shared = part == "key" || part == "value";
        add_linear(fmt::format("{}{}.{}", layer, attention, part), options.size,
                   is_shared ? options.key_value_size() : options.size, options.attention_bias);
      }
      add_norm(layer + attention + "_norm");
    }
    const bool has_bias = options.feed_forward_bias;
    if (options.feed_forward_gate) {
      add_linear(layer + "feed_forward.gate", options.size, options.feed_forward, has_bias);
    }
    add_linear(layer + "feed_forward.inner", options.size, options.feed_forward, has_bias);
    add_linear(layer + "feed_forward.outer", options.feed_forward, options.size, has_bias);
    add_norm(layer + "feed_forward_norm");
  };
  const bool has_input = has_encoder(options.kind);
  for (std::int64_t i = 0; i < options.num_encoder_layers(); ++i) {
    add_layer(fmt::format("encoder.layers.{}.", i), {"self_attention"});
  }
  for (std::int64_t i = 0; i < options.decoder_layers; ++i) {
    const std::string layer = fmt::format("decoder.layers.{}.", i);
    if (options.has_ssru()) {
      add_ssru(layer);
      add_layer(layer, {"cross_attention"});
    } else {
      has_input ? add_layer(layer, {"self_attention", "cross_attention"}) : add_layer(layer, {"self_attention"});
    }
  }
  if (!options.final_norm) return list;
  if (has_input) add_norm("encoder.norm");
  add_norm("decoder.norm");
  return list;
}

StoredTensors import_parameters(std::span<const ParameterShape> parameters, std::span<const TensorLayout> layout,
                                TensorLookup& tensors) {
  ShapeByName shapes;
  for (const ParameterShape& parameter : parameters) shapes.emplace(parameter.name, &parameter.shape);
  StoredTensors imported;
  for (const auto& [name, names, orientation] : layout) {
    Shape shape = *shapes.at(names.front());
    shape[0] = 0;
    for (const std::string& parameter : names) shape[0] += shapes.at(parameter)->front();
    const TensorInfo& stored = tensors.get(name, stored_shape(shape, orientation));
    TensorInfo rows = stored;
    rows.shape = shape;
    if (orientation == Orientation::kTransposed) {
      rows.bytes = bytes_of(imported.keep(transpose(stored.bytes, stored.dtype, shape[1], shape[0])));
    }
    split_rows(rows, names, shapes, "", imported);
    if (stored.dtype == DType::kI8) {
      split_rows(tensors.get(name + ".scale", std::array{shape[0]}), names, shapes, ".scale", imported);
      if (const TensorInfo* multiplier = tensors.find(name + ".input_multiplier"); multiplier != nullptr) {
        for (const std::string& parameter : names) {
          imported.tensors.push_back(*multiplier);
          imported.tensors.back().name = parameter + ".input_multiplier";
        }
      }
    }
  }
  return imported;
}

StoredTensors export_parameters(std::span<const TensorInfo> parameters, std::span<const TensorLayout> layout) {
  TensorByName tensors;
  for (const TensorInfo& parameter : parameters) tensors.emplace(parameter.name, &parameter);
  StoredTensors exported;
  for (const auto& [name, names, orientation] : layout) {
    TensorInfo tensor = *tensors.at(names.front());
    tensor.name = name;
    if (names.size() > 1) join_rows(names, tensors, exported, tensor);
    if (orientation == Orientation::kTransposed) {
      tensor.bytes = bytes_of(exported.keep(transpose(tensor.bytes, tensor.dtype, tensor.shape[0], tensor.shape[1])));
    }
    tensor.shape = stored_shape(tensor.shape, orientation);
    exported.tensors.push_back(std::move(tensor));
  }
  return exported;
}

}  // namespace edgewise
