// SPDX-License-Identifier: Apache-2.0
#include "edgewise/infer/node_memory.h"

#include "edgewise/base/error.h"

namespace edgewise {

float* PiecePool::take_block() {
  if (free_.empty()) return blocks_.emplace_back().elements<float>(kPiecesOfBlock * floats_of_piece_);
  float* block = free_.back();
  free_.pop_back();
  return block;
}

void NodeMemory::clear(PiecePool& pool) {
  for (float* block : blocks_) pool.give_back(block);
  blocks_.clear();
  nodes_.clear();
}

NodeIndex NodeMemory::add(NodeIndex parent, PiecePool& pool, const char* caller) {
  const std::int64_t count = std::ssize(nodes_);
  check(parent >= HypothesisTree::kRoot && parent < count, "{}: parent is {}, needs kRoot or a number in [0, {})",
        caller, parent, count);
  if (count % PiecePool::kPiecesOfBlock == 0) blocks_.push_back(pool.take_block());
  nodes_.push_back({parent, parent == HypothesisTree::kRoot ? 0 : nodes_[static_cast<std::size_t>(parent)].depth + 1});
  return static_cast<NodeIndex>(count);
}

float* NodeMemory::piece(NodeIndex node, const PiecePool& pool) const {
  const std::int64_t block = node / PiecePool::kPiecesOfBlock;
  return blocks_[static_cast<std::size_t>(block)] + node % PiecePool::kPiecesOfBlock * pool.floats_of_piece();
}

void NodeMemory::append_path(NodeIndex node, const PiecePool& pool, std::vector<const float*>& pieces) const {
  pieces.resize(pieces.size() + static_cast<std::size_t>(depth(node)) + 1);
  for (auto place = pieces.rbegin(); node != HypothesisTree::kRoot; ++place) {
    *place = piece(node, pool);
    node = nodes_[static_cast<std::size_t>(node)].parent;
  }
}

float* InputMemory::begin(std::int64_t tokens, std::int64_t spare_tokens, std::int64_t sentences) {
  sentences_left = sentences;
  return bytes_.elements<float>((tokens + spare_tokens) * floats_of_piece_);
}

}  // namespace edgewise
