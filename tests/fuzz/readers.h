// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// Functions for fuzzers, which pass any bytes, and for tests, which pass the files of tests/fuzz/corpus. Each function
// parses the bytes as an untrusted file, accepts an Error, and aborts if the parsed value is inconsistent.
namespace edgewise::fuzz {

void read_safetensors(std::string_view bytes);
void read_config(std::string_view bytes);
void read_manifest(std::string_view bytes);

/// Also encodes a text with a valid vocabulary.
void read_vocabulary(std::string_view bytes);

/// Also applies a valid case to a sentence and undoes the change.
void read_case(std::string_view bytes);

}  // namespace edgewise::fuzz
