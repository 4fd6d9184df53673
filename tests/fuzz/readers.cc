// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

constexpr Reader kReaders[] = {
    {"attention", read_attention},
    {"batch", read_batch},
    {"case", read_case},
    {"checkpoint", read_checkpoint},
    {"comparison", read_comparison},
    {"config", read_config},
    {"corpus", read_corpus},
    {"graph", read_graph},
    {"json", read_json},
    {"large_graph", read_large_graph},
    {"manifest", read_manifest},
    {"metrics", read_metrics},
    {"model", read_model},
    {"pairs", read_pairs},
    {"safetensors", read_safetensors},
    {"sentencepiece", read_sentencepiece},
    {"settings", read_settings},
    {"state", read_state},
    {"tree", read_tree},
    {"vocabulary", read_vocabulary},
};

}  // namespace

std::span<const Reader> readers() { return kReaders; }

}  // namespace edgewise::fuzz
