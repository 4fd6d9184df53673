// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/node_memory.h"

#include "edgewise/base/error.h"

namespace edgewise {

template <typename T>
T* BlockPool<T>::take() {
  if (free_.empty()) return blocks_.emplace_back().template elements<T>(shape_.size());
  T* block = free_.back();
  free_.pop_back();
  return block;
}

template <typename T>
void NodeMemory<T>::clear(BlockPool<T>& pool) {
  for (T* block : blocks_) pool.give_back(block);
  blocks_.clear();
  nodes_.clear();
}

template <typename T>
NodeIndex NodeMemory<T>::add(NodeIndex parent, BlockPool<T>& pool, const char* caller) {
  const std::int64_t count = std::ssize(nodes_);
  check(parent >= HypothesisTree::kRoot && parent < count, "{}: parent is {}, needs kRoot or a number in [0, {})",
        caller, parent, count);
  if (count % BlockShape::kTokens == 0) blocks_.push_back(pool.take());
  nodes_.push_back({parent, parent == HypothesisTree::kRoot ? 0 : nodes_[static_cast<std::size_t>(parent)].depth + 1});
  return static_cast<NodeIndex>(count);
}

template <typename T>
T* NodeMemory<T>::piece(NodeIndex node, const BlockShape& shape) const {
  const auto block = static_cast<std::size_t>(node / BlockShape::kTokens);
  return blocks_[block] + node % BlockShape::kTokens * shape.piece_size;
}

template <typename T>
void NodeMemory<T>::append_path(NodeIndex node, const BlockShape& shape, std::vector<const T*>& pieces) const {
  pieces.resize(pieces.size() + static_cast<std::size_t>(depth(node)) + 1);
  for (auto place = pieces.rbegin(); node != HypothesisTree::kRoot; ++place) {
    *place = piece(node, shape);
    node = nodes_[static_cast<std::size_t>(node)].parent;
  }
}

template <typename T>
void InputMemory<T>::begin(std::int64_t tokens, std::int64_t sentences) {
  sentences_left = sentences;
  blocks_ = bytes_.elements<T>((tokens + BlockShape::kTokens - 1) / BlockShape::kTokens * shape_.size());
}

template <typename T>
T* InputMemory<T>::piece(std::int64_t token) const {
  return blocks_ + token / BlockShape::kTokens * shape_.size() + token % BlockShape::kTokens * shape_.piece_size;
}

template class BlockPool<float>;
template class BlockPool<BFloat16>;
template class NodeMemory<float>;
template class NodeMemory<BFloat16>;
template class InputMemory<float>;
template class InputMemory<BFloat16>;

}  // namespace edgewise
