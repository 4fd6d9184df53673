// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/translate/model_paths.h"
#include "edgewise/translate/translator.h"

// Options that several commands share.

namespace edgewise {

/// Accepts the names of an enum's values: `option->transform(one_of<Precision>())`.
template <class Enum>
CLI::Validator one_of() {
  const auto replace_name_by_number = [](std::string& text) -> std::string {
    std::vector<std::string_view> names;
    for (const auto& [value, name] : enum_names(Enum{})) {
      if (text == name) {
        text = std::to_string(static_cast<int>(value));
        return "";
      }
      names.push_back(name);
    }
    return fmt::format("{} is none of {}", quote(text), fmt::join(names, ", "));
  };
  return CLI::Validator(replace_name_by_number, "");
}

/// Adds an option that takes the name of one of an enum's values.
template <NamedEnum Enum>
CLI::Option* add_choice(CLI::App& command, const std::string& names, Enum& value, const std::string& help) {
  return command.add_option(names, value, help)->transform(one_of<Enum>());
}

/// Returns the name of a subcommand after the names of the commands that it belongs to: "edgewise bench train".
std::string full_name(const CLI::App& command);

/// Adds an option that takes a number, or numbers separated by commas if `value` is a vector. The help text ends with
/// the range. Throws Error for text that is not a number in decimal digits, and for a number that is out of range;
/// CLI11's own conversion would change such numbers.
CLI::Option* add_number(CLI::App& command, const std::string& names, FieldValue value, const std::string& help,
                        const Range& range);

/// Adds an option that takes the name of a file or directory, or several names if `value` is a vector. Throws Error for
/// an empty name.
CLI::Option* add_path(CLI::App& command, const std::string& names, auto& value, const std::string& help) {
  CLI::Option* option = command.add_option(names, value, help);
  return option->check([&command, option](const std::string& path) {
    check(!path.empty(), "{}: {} is empty, needs the name of a file or directory", full_name(command),
          option->get_name());
    return std::string();
  });
}

/// Adds --overwrite, which lets a command replace the directory of --out.
void add_overwrite_option(CLI::App& command, Overwrite& overwrite);

/// The path of a text, and the option that gives it.
struct NamedPath {
  std::string_view name;
  std::string_view path;
};

/// Throws Error if both paths are standard input, `-`.
void require_one_standard_input(std::string_view caller, const NamedPath& first, const NamedPath& second);

/// Adds --threads N. The default, 0, means OMP_NUM_THREADS or, if that is not set, the cores that this process may use.
void add_threads_option(CLI::App& command, int& threads);

/// Adds --device NAME, which choose_gpu() reads.
void add_device_option(CLI::App& command, std::string& device);

/// Sets the number of threads that kernels and libtorch use. 0 means the default of add_threads_option().
void use_threads(int threads);

/// Adds --set section.key=value, which may be repeated.
void add_settings_option(CLI::App& command, std::vector<std::string>& settings);

/// Options of all translating commands.
struct TranslatorSettings {
  std::vector<std::string> models;  // run or model directories; several form an ensemble
  TranslatorOptions options;
  int threads = 0;  // threads of all workers together; 0: OMP_NUM_THREADS or the number of cores
};

void add_translator_options(CLI::App& command, TranslatorSettings& settings);

/// Throws Error if a layer or head of attention is selected, but alignments, which need it, are not printed. `needs`
/// names the options that print them.
void require_alignments(std::string_view caller, const TranslatorOptions& options, bool is_aligned,
                        std::string_view needs);

}  // namespace edgewise
