// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

constexpr Reader kReaders[] = {
    {"case", read_case},
    {"config", read_config},
    {"corpus", read_corpus},
    {"graph", read_graph},
    {"json", read_json},
    {"manifest", read_manifest},
    {"metrics", read_metrics},
    {"model", read_model},
    {"safetensors", read_safetensors},
    {"sentencepiece", read_sentencepiece},
    {"state", read_state},
    {"vocabulary", read_vocabulary},
};

}  // namespace

std::span<const Reader> readers() { return kReaders; }

}  // namespace edgewise::fuzz
