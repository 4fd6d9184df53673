// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/decoding_memory.h"

#include <algorithm>
#include <numeric>

#include "edgewise/base/error.h"
#include "edgewise/kernels/attention/scatter_rows.h"

namespace edgewise {
namespace {

void check_inputs(std::span<const std::int64_t> places, std::span<const Tokens> inputs) {
  check(places.size() == inputs.size(), "read: {} inputs have {} places, one each is needed", inputs.size(),
        places.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check(places[i] >= 0, "read: place {} is {}, needs a number of at least 0", i, places[i]);
    check(!inputs[i].empty(), "read: input {} is empty, needs at least one token", i);
  }
}

}  // namespace

template <typename T>
DecodingMemory<T>::DecodingMemory(const DecodingShape& shape)
    : width_(shape.width),
      input_shape_{shape.input_layers, 2 * shape.width},
      nodes_pool_({shape.node_layers, 2 * shape.width + shape.more}) {}

template <typename T>
InputMemory<T>& DecodingMemory<T>::free_memory() {
  const auto is_free = [](const auto& memory) { return memory->sentences_left == 0; };
  const auto found = std::ranges::find_if(memories_, is_free);
  if (found != memories_.end()) return **found;
  return *memories_.emplace_back(std::make_unique<InputMemory<T>>(input_shape_));
}

template <typename T>
void DecodingMemory<T>::forget(Place& place) {
  if (place.memory != nullptr) --place.memory->sentences_left;
  place.memory = nullptr;
  place.nodes.clear(nodes_pool_);
}

template <typename T>
void DecodingMemory<T>::read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) {
  check_inputs(places, inputs);
  rows_.clear();
  if (inputs.empty()) return;
  const auto last = static_cast<std::size_t>(*std::ranges::max_element(places));
  if (last >= places_.size()) places_.resize(last + 1);
  for (const std::int64_t place : places) forget(places_[static_cast<std::size_t>(place)]);

  const auto count = [](std::int64_t sum, const Tokens& input) { return sum + std::ssize(input); };
  const std::int64_t num_rows = std::accumulate(inputs.begin(), inputs.end(), std::int64_t{0}, count);
  InputMemory<T>& memory = free_memory();
  memory.begin(num_rows, std::ssize(inputs));
  for (std::int64_t row = 0; row < num_rows; ++row) rows_.push_back(memory.piece(row));

  auto next = rows_.begin();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Place& place = places_[static_cast<std::size_t>(places[i])];
    place.memory = &memory;
    place.input.assign(next, next + std::ssize(inputs[i]));
    next += std::ssize(inputs[i]);
  }
}

template <typename T>
void DecodingMemory<T>::add(std::span<const NewNode> nodes) {
  tokens_.clear();
  positions_.clear();
  rows_.clear();
  ancestors_.clear();
  inputs_.clear();
  std::int64_t last_place = -1;
  for (const NewNode& node : nodes) {
    const bool is_read = node.place >= 0 && node.place < std::ssize(places_) &&
                         places_[static_cast<std::size_t>(node.place)].memory != nullptr;
    check(is_read, "step: place is {}, needs one into which an input was read", node.place);
    Place& place = places_[static_cast<std::size_t>(node.place)];
    const NodeIndex number = place.nodes.add(node.parent, nodes_pool_, "step");
    tokens_.push_back(node.token);
    positions_.push_back(place.nodes.depth(number));
    rows_.push_back(place.nodes.piece(number, nodes_pool_.shape()));
    ancestors_.ranges.push_back({std::ssize(ancestors_.pieces), positions_.back() + 1});
    place.nodes.append_path(number, nodes_pool_.shape(), ancestors_.pieces);
    if (node.place != last_place) inputs_.pieces.insert(inputs_.pieces.end(), place.input.begin(), place.input.end());
    inputs_.ranges.push_back({std::ssize(inputs_.pieces) - std::ssize(place.input), std::ssize(place.input)});
    last_place = node.place;
  }
}

template <typename T>
void write_pieces(std::span<T* const> pieces, std::int64_t offset, std::int64_t columns, const float* from,
                  std::int64_t stride) {
  kernels::scatter_rows(kernels::ScatterRows<T>{.rows = std::ssize(pieces),
                                                .columns = columns,
                                                .from = from,
                                                .stride = stride,
                                                .to = pieces.data(),
                                                .offset = offset});
}

template class DecodingMemory<float>;
template class DecodingMemory<BFloat16>;
template void write_pieces(std::span<float* const>, std::int64_t, std::int64_t, const float*, std::int64_t);
template void write_pieces(std::span<BFloat16* const>, std::int64_t, std::int64_t, const float*, std::int64_t);

}  // namespace edgewise
