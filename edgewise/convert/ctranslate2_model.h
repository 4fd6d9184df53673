// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/convert/stored_tensor.h"

// The file model.bin of a CTranslate2 model. Numbers are little-endian, and a string is its size in 16 bits, its bytes
// and a NUL, which the size counts:
//   version (32 bits); name of the specification; revision (32 bits)
//   number of variables (32 bits); for each: name; number of dimensions (8 bits); dimensions (32 bits each); type (8
//     bits); size in bytes (32 bits); elements
//   number of aliases (32 bits); for each: name; name of the variable

namespace edgewise {

/// A second name of a variable. CTranslate2 also gives the variable's "_scale" the alias's "_scale".
struct Ctranslate2Alias {
  std::string name;
  std::string variable;
};

struct Ctranslate2Model {
  std::uint32_t version = 0;   // version of the file's layout
  std::string specification;   // the kind of model: "TransformerSpec"
  std::uint32_t revision = 0;  // revision of the specification
  StoredTensors variables;
  std::vector<Ctranslate2Alias> aliases;
};

/// Reads model.bin of version 4, 5 or 6, which have one layout. Throws Error for other versions, names that occur
/// twice, aliases of unknown variables, and bytes after the aliases.
Ctranslate2Model read_ctranslate2(const std::filesystem::path& path, std::string_view caller = "read_ctranslate2");

/// Parses the bytes of such a file. Errors call it `name`.
Ctranslate2Model parse_ctranslate2(std::string bytes, std::string_view name,
                                   std::string_view caller = "read_ctranslate2");

/// Returns the bytes of a model.bin of version 6. Throws Error for element types other than F32, F16, BF16, I8, I16 and
/// I32, for a variable of 4 GiB or more, and for names that parse_ctranslate2 refuses.
std::string serialize_ctranslate2(std::string_view specification, std::uint32_t revision,
                                  std::span<const TensorInfo> variables, std::span<const Ctranslate2Alias> aliases);

/// The variables of a CTranslate2 model, each with all its names.
struct Ctranslate2Variables {
  StoredTensors settings;  // numbers, and texts of models without config.json
  StoredTensors tensors;
};

/// Takes the variables out of a model. Weights are what base/files/stored_parameters.h describes: a matrix of I8 gets
/// the tensor NAME.scale, which multiplies, in place of NAME_scale, which divides; a matrix of I16 becomes F32. The
/// table of inputs is "encoder/embeddings_0/weight" in models of all revisions. Throws Error, beginning with `where`,
/// for scales that are missing, of another shape, or not finite and their inverses too.
Ctranslate2Variables take_ctranslate2_variables(Ctranslate2Model model, const std::string& where);

}  // namespace edgewise
