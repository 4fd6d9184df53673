// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/ctranslate2_model.h"

#include <unordered_set>
#include <utility>

#include "edgewise/base/files/files.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/byte_reader.h"

namespace edgewise {
namespace {

constexpr std::uint32_t kFirstVersion = 4;  // versions before have no types

class Ctranslate2Reader {
 public:
  Ctranslate2Reader(std::string_view bytes, const std::string& where) : where_(where), reader_(bytes, where) {}

  void read(Ctranslate2Model& model) {
    model.version = reader_.take_number<std::uint32_t>("the version");
    check(model.version >= kFirstVersion && model.version <= detail::kCtranslate2Version,
          "{} has version {}, needs {} to {}; convert the original model with CTranslate2 4", where_, model.version,
          kFirstVersion, detail::kCtranslate2Version);
    model.specification = take_string("the specification");
    model.revision = reader_.take_number<std::uint32_t>("the revision");
    const std::uint32_t num_variables = take_count("variables");
    for (std::uint32_t i = 0; i < num_variables; ++i) model.variables.tensors.push_back(take_variable());
    const std::uint32_t num_aliases = take_count("aliases");
    for (std::uint32_t i = 0; i < num_aliases; ++i) {
      std::string name = take_string("the name of an alias");
      model.aliases.push_back({std::move(name), take_string("the variable of an alias")});
    }
    check(reader_.num_left() == 0, "{} has {} bytes after the aliases, needs none", where_, reader_.num_left());
    detail::check_ctranslate2_names(model.variables.tensors, model.aliases, where_);
  }

 private:
  std::uint32_t take_count(std::string_view what) {
    const auto count = reader_.take_number<std::uint32_t>(fmt::format("the number of {}", what));
    check(count <= detail::kMaxTensors, "{} has {} {}, needs at most {}", where_, count, what, detail::kMaxTensors);
    return count;
  }

  std::string take_string(std::string_view what) {
    const auto size = reader_.take_number<std::uint16_t>(what);
    std::string_view text = reader_.take(size, what);
    const bool has_nul = text.ends_with('\0');
    if (has_nul) text.remove_suffix(1);
    if (!has_nul || text.empty() || has_control_character(text)) {
      reader_.fail_here("{} is {}, needs UTF-8 without control characters and with a NUL at its end", what,
                        quote(text));
    }
    return std::string(text);
  }

  TensorInfo take_variable() {
    TensorInfo variable;
    variable.name = take_string("the name of a variable");
    const std::string quoted = quote(variable.name);
    const auto rank = reader_.take_number<std::uint8_t>(quoted);
    for (std::uint8_t axis = 0; axis < rank; ++axis) {
      variable.shape.push_back(reader_.take_number<std::uint32_t>(quoted));
    }
    const auto type = reader_.take_number<std::uint8_t>(quoted);
    check(type < std::size(detail::kCtranslate2Types), "{}: {} has elements of type {}, needs 0 to {}", where_, quoted,
          type, std::size(detail::kCtranslate2Types) - 1);
    variable.dtype = detail::kCtranslate2Types[type];
    const auto size = reader_.take_number<std::uint32_t>(quoted);
    const std::uint64_t needed =
        checked_byte_size(variable.dtype, variable.shape, fmt::format("{}: the size of {}", where_, quoted));
    check(size == needed, "{}: {} has {} bytes, needs {} for {} of shape [{}]", where_, quoted, size, needed,
          dtype_name(variable.dtype), fmt::join(variable.shape, ", "));
    variable.bytes = std::as_bytes(std::span(reader_.take(size, quoted)));
    return variable;
  }

  const std::string& where_;
  ByteReader reader_;
};

}  // namespace

Ctranslate2Model read_ctranslate2(const std::filesystem::path& path, std::string_view caller) {
  return parse_ctranslate2(read_file(path, caller, kAvailableMemory), path.string(), caller);
}

Ctranslate2Model parse_ctranslate2(std::string bytes, std::string_view name, std::string_view caller) {
  const std::string where = fmt::format("{}: {}", caller, name);
  Ctranslate2Model model;
  Ctranslate2Reader(model.variables.keep(std::move(bytes)), where).read(model);
  return model;
}

void detail::check_ctranslate2_names(std::span<const TensorInfo> variables, std::span<const Ctranslate2Alias> aliases,
                                     std::string_view where) {
  std::unordered_set<std::string_view> names;
  for (const TensorInfo& variable : variables) {
    check(names.insert(variable.name).second, "{} has two variables {}, needs a name for each", where,
          quote(variable.name));
  }
  const std::unordered_set<std::string_view> variable_names = names;
  for (const Ctranslate2Alias& alias : aliases) {
    check(names.insert(alias.name).second, "{} has two variables or aliases {}, needs a name for each", where,
          quote(alias.name));
    check(variable_names.contains(alias.variable), "{} has the alias {} of {}, needs the name of a variable", where,
          quote(alias.name), quote(alias.variable));
  }
}

}  // namespace edgewise
