// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/apps/runtime/completion.h"

namespace edgewise::detail {
namespace {

// fish's own __fish_seen_subcommand_from cannot tell `bench train` from `train`.
constexpr std::string_view kPathFunction =
    R"(function {function} --description 'Whether the command line has these subcommands'
  set -l path
  for word in (commandline -opc)[2..]
    switch "$path $word"
      case {paths}
        set path "$path $word"
    end
  end
  test "$path" = "$argv"
end
)";

std::string quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

class Script {
 public:
  explicit Script(const CommandDescription& program) : program_(program.name()) {
    function_ = "__fish_" + program_ + "_at";
    std::ranges::replace(function_, '-', '_');
    add(program);
  }

  std::string text() const {
    const std::string paths = paths_.empty() ? "''" : fmt::format("{}", fmt::join(paths_, " "));
    return fmt::format("# Completes the arguments of {} in fish.\n", program_) +
           fmt::format(kPathFunction, fmt::arg("function", function_), fmt::arg("paths", paths)) + lines_;
  }

 private:
  void add(const CommandDescription& command) {
    const std::string start = fmt::format("complete -c {} -n {}", program_,
                                          quote(fmt::format("{} \"{}\"", function_, below_program(command))));
    for (const OptionDescription& option : command.options) lines_ += start + option_line(option);
    for (const CommandDescription& subcommand : command.subcommands) {
      lines_ += fmt::format("{} -f -a {} -d {}\n", start, subcommand.name(), quote(subcommand.help));
      paths_.push_back(quote(below_program(subcommand)));
      add(subcommand);
    }
  }

  static std::string option_line(const OptionDescription& option) {
    std::string line;
    for (const std::string& name : option.names) {
      line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (!option.choices.empty()) {
      line += fmt::format(" -x -a {}", quote(fmt::format("{}", fmt::join(option.choices, " "))));
    } else if (!option.is_flag()) {
      line += option.is_number() ? " -x" : " -r -F";
    }
    return line + " -d " + quote(summary_of(option.help)) + "\n";
  }

  std::string program_;
  std::string function_;
  std::vector<std::string> paths_;  // paths of all subcommands, quoted
  std::string lines_;
};

}  // namespace

std::string fish_completion(const CommandDescription& program) { return Script(program).text(); }

}  // namespace edgewise::detail
