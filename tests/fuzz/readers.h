// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// What fuzzers call with any bytes, and tests with the bytes of tests/fuzz/corpus. Each reads them as a file from
// outside, accepts an Error, and aborts where what it read is not what it says.
namespace edgewise::fuzz {

void read_safetensors(std::string_view bytes);
void read_config(std::string_view bytes);
void read_manifest(std::string_view bytes);

/// Also encodes a text with a vocabulary that was accepted.
void read_vocabulary(std::string_view bytes);

/// Also undoes what applying an accepted case did to a sentence.
void read_case(std::string_view bytes);

}  // namespace edgewise::fuzz
