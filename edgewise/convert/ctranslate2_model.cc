// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/ctranslate2_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "edgewise/base/checked.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/byte_reader.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::uint32_t kFirstVersion = 4;  // versions before have no types
constexpr std::uint32_t kCtranslate2Version = 6;
// The types in the order of their numbers.
constexpr DType kCtranslate2Types[] = {DType::kF32, DType::kI8, DType::kI16, DType::kI32, DType::kF16, DType::kBF16};

/// Throws Error, beginning with `where`, if two names of variables and aliases are equal, or an alias has no variable.
void check_ctranslate2_names(std::span<const TensorInfo> variables, std::span<const Ctranslate2Alias> aliases,
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

class Ctranslate2Reader {
 public:
  Ctranslate2Reader(std::string_view bytes, const std::string& where) : where_(where), reader_(bytes, where) {}

  void read(Ctranslate2Model& model) {
    model.version = reader_.take_number<std::uint32_t>("the version");
    check(model.version >= kFirstVersion && model.version <= kCtranslate2Version,
          "{} has version {}, needs {} to {}; convert the original model with CTranslate2 4", where_, model.version,
          kFirstVersion, kCtranslate2Version);
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
    check_ctranslate2_names(model.variables.tensors, model.aliases, where_);
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
    check(type < std::size(kCtranslate2Types), "{}: {} has elements of type {}, needs 0 to {}", where_, quoted, type,
          std::size(kCtranslate2Types) - 1);
    variable.dtype = kCtranslate2Types[type];
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

constexpr std::string_view kWriteCtranslate2 = "serialize_ctranslate2";

void append_string(std::string& file, std::string_view text) {
  check(!text.empty() && !has_control_character(text) && text.size() < std::numeric_limits<std::uint16_t>::max(),
        "{}: a name is {}, needs UTF-8 without control characters, 1 to 65534 bytes", kWriteCtranslate2, quote(text));
  append_number(file, static_cast<std::uint16_t>(text.size() + 1));
  file += text;
  file += '\0';
}

void append_variable(std::string& file, const TensorInfo& variable) {
  check_tensor_to_write(variable, kWriteCtranslate2);
  const auto what = [&] { return fmt::format("{}: the size of {}", kWriteCtranslate2, quote(variable.name)); };
  const auto* type = std::ranges::find(kCtranslate2Types, variable.dtype);
  check(type != std::end(kCtranslate2Types), "{}: {} has elements of type {}, needs F32, F16, BF16, I8, I16 or I32",
        kWriteCtranslate2, quote(variable.name), dtype_name(variable.dtype));
  append_string(file, variable.name);
  append_number(file, static_cast<std::uint8_t>(variable.shape.size()));
  for (const std::int64_t dimension : variable.shape) append_number(file, narrow<std::uint32_t>(dimension, what()));
  append_number(file, static_cast<std::uint8_t>(type - std::begin(kCtranslate2Types)));
  append_number(file, narrow<std::uint32_t>(variable.bytes.size(), what()));
  file.append(reinterpret_cast<const char*>(variable.bytes.data()), variable.bytes.size());
}

template <class Range>
std::uint32_t checked_count(const Range& range, std::string_view what) {
  check(range.size() <= detail::kMaxTensors, "{}: {} has {} entries, needs at most {}", kWriteCtranslate2, what,
        range.size(), detail::kMaxTensors);
  return static_cast<std::uint32_t>(range.size());
}

constexpr float kOldInt16Scale = 1000;  // scale of models that store none

std::string scale_name(const std::string& name) { return name + "_scale"; }

bool is_quantised(const TensorInfo& variable) {
  return variable.name.ends_with("weight") && (variable.dtype == DType::kI8 || variable.dtype == DType::kI16);
}

bool is_setting(const TensorInfo& variable) {
  constexpr std::array<std::string_view, 3> kTexts = {"unk_token", "bos_token", "eos_token"};
  return variable.shape.empty() || std::ranges::find(kTexts, variable.name) != kTexts.end();
}

/// Makes each alias a variable.
void add_aliases(const std::vector<Ctranslate2Alias>& aliases, std::vector<TensorInfo>& variables) {
  std::unordered_map<std::string, std::size_t> index_of;
  for (std::size_t i = 0; i < variables.size(); ++i) index_of.emplace(variables[i].name, i);
  const auto add = [&](const std::string& name, const std::string& variable) {
    const auto found = index_of.find(variable);
    if (found == index_of.end() || !index_of.emplace(name, variables.size()).second) return;
    TensorInfo copy = variables[found->second];
    copy.name = name;
    variables.push_back(std::move(copy));
  };
  for (const Ctranslate2Alias& alias : aliases) {
    add(alias.name, alias.variable);
    add(scale_name(alias.name), scale_name(alias.variable));
  }
}

class VariableReader {
 public:
  VariableReader(const std::vector<TensorInfo>& variables, const std::string& where) : where_(where) {
    for (const TensorInfo& variable : variables) {
      variables_.emplace(variable.name, &variable);
      if (is_quantised(variable)) scales_.insert(scale_name(variable.name));
    }
    for (const TensorInfo& variable : variables) add(variable);
  }

  Ctranslate2Variables finish() && { return std::move(result_); }

 private:
  void add(const TensorInfo& variable) {
    if (scales_.contains(variable.name)) return;
    if (is_quantised(variable)) {
      add_quantised(variable);
    } else {
      (is_setting(variable) ? result_.settings : result_.tensors).tensors.push_back(variable);
    }
  }

  void add_quantised(const TensorInfo& weight) {
    check(weight.shape.size() == 2, "{}: {} is {} of shape [{}], needs a matrix", where_, quote(weight.name),
          dtype_name(weight.dtype), fmt::join(weight.shape, ", "));
    std::vector<float> scales = scales_of(weight);
    if (weight.dtype == DType::kI8) {
      for (float& scale : scales) scale = 1 / scale;
      result_.tensors.tensors.push_back(weight);
      result_.tensors.add(weight.name + ".scale", {weight.shape[0]}, scales);
      return;
    }
    const auto columns = static_cast<std::size_t>(weight.shape[1]);
    std::vector<float> values(scales.size() * columns);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::int16_t element = 0;
      std::memcpy(&element, weight.bytes.data() + i * sizeof(element), sizeof(element));
      values[i] = static_cast<float>(element) / scales[i / columns];
    }
    result_.tensors.add(weight.name, weight.shape, values);
  }

  /// Returns the divisor of each row.
  std::vector<float> scales_of(const TensorInfo& weight) const {
    const auto rows = static_cast<std::size_t>(weight.shape[0]);
    const std::string name = scale_name(weight.name);
    const auto found = variables_.find(name);
    if (found == variables_.end()) {
      check(weight.dtype == DType::kI16, "{} has no tensor {}, needs one, because {} is I8", where_, quote(name),
            quote(weight.name));
      return std::vector<float>(rows, kOldInt16Scale);
    }
    std::vector<float> scales = to_floats(*found->second, where_);
    const bool is_one = scales.size() == 1;
    check(is_one || std::ranges::equal(found->second->shape, std::array{weight.shape[0]}),
          "{}: {} has shape [{}], needs [] or [{}]", where_, quote(name), fmt::join(found->second->shape, ", "), rows);
    for (const float scale : scales) {
      check(std::isfinite(scale) && std::isfinite(1 / scale), "{}: {} has the element {}, needs a finite divisor",
            where_, quote(name), scale);
    }
    if (is_one) scales.assign(rows, scales.front());
    return scales;
  }

  const std::string& where_;
  std::unordered_map<std::string_view, const TensorInfo*> variables_;
  std::unordered_set<std::string> scales_;  // names of scales
  Ctranslate2Variables result_;
};

/// Gives variables that have other names in older revisions their newer names.
void rename_old_variables(std::vector<TensorInfo>& variables) {
  for (TensorInfo& variable : variables) {
    constexpr std::string_view kOld = "encoder/embeddings/weight";
    if (variable.name.starts_with(kOld)) variable.name.replace(0, kOld.size(), "encoder/embeddings_0/weight");
  }
}

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

std::string serialize_ctranslate2(std::string_view specification, std::uint32_t revision,
                                  std::span<const TensorInfo> variables, std::span<const Ctranslate2Alias> aliases) {
  check_ctranslate2_names(variables, aliases, kWriteCtranslate2);
  std::size_t size = 1024;
  for (const TensorInfo& variable : variables) size += variable.bytes.size() + variable.name.size() + 64;
  std::string file;
  file.reserve(size);
  append_number(file, kCtranslate2Version);
  append_string(file, specification);
  append_number(file, revision);
  append_number(file, checked_count(variables, "variables"));
  for (const TensorInfo& variable : variables) append_variable(file, variable);
  append_number(file, checked_count(aliases, "aliases"));
  for (const Ctranslate2Alias& alias : aliases) {
    append_string(file, alias.name);
    append_string(file, alias.variable);
  }
  return file;
}

Ctranslate2Variables take_ctranslate2_variables(Ctranslate2Model model, const std::string& where) {
  std::vector<TensorInfo>& variables = model.variables.tensors;
  add_aliases(model.aliases, variables);
  rename_old_variables(variables);
  Ctranslate2Variables result = VariableReader(variables, where).finish();
  std::ranges::move(model.variables.memory, std::back_inserter(result.tensors.memory));
  result.settings.memory = result.tensors.memory;
  return result;
}

}  // namespace edgewise
