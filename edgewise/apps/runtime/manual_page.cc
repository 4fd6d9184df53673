// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/manual_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "edgewise/base/version.h"

namespace edgewise {
namespace {

constexpr std::string_view kEnd = R"(.SH EXIT STATUS
.TP
.B 0
Success.
.TP
.B 1
An internal error, or a self-test with a wrong result.
.TP
.B 2
A mistake of the user, output that could not be written, or too little memory or other resources.
.TP
.BI 128+ n
The program was ended by signal
.IR n .
.SH ENVIRONMENT
.TP
.B EDGEWISE_KERNELS
The instruction set of the kernels, such as avx2, instead of the best one of this machine.
.TP
.B OMP_NUM_THREADS
The number of threads, instead of the number of cores that the process may use.
)";

/// Escapes a text for a line of its own.
std::string escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if (c == '\n') {
      escaped += ' ';
    } else {
      escaped += c;
    }
  }
  const bool is_control_line = escaped.starts_with('.') || escaped.starts_with('\'');
  return is_control_line ? "\\&" + escaped : escaped;
}

std::string bold(std::string_view text) { return "\\fB" + escape(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escape(text) + "\\fR"; }

std::string usage_of(const OptionDescription& positional) {
  const std::string name = italic(positional.positional) + (positional.is_list ? "..." : "");
  return positional.is_required ? name : "[" + name + "]";
}

std::string synopsis(const CommandDescription& command) {
  std::string line = bold(join_path(command.path, " "));
  if (!command.options.empty()) line += " [" + italic("OPTIONS") + "]";
  for (const OptionDescription& positional : command.positionals) line += " " + usage_of(positional);
  if (!command.subcommands.empty()) line += " " + italic("SUBCOMMAND");
  return line;
}

/// Writes an option with its values, and its help text as a sentence.
std::string option_text(const OptionDescription& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(bold(name));
  std::string line = option.names.empty() ? italic(option.positional) : fmt::format("{}", fmt::join(names, ", "));
  if (!option.names.empty() && !option.is_flag()) {
    line += " " + (option.choices.empty() ? italic(option.type) : fmt::format("{}", fmt::join(option.choices, "|")));
  }
  std::string help = escape(option.help);
  if (option.is_required) help += " (required)";
  return fmt::format(".TP\n{}\n{}\n", line, help);
}

std::string options_text(const CommandDescription& command) {
  std::string text;
  for (const OptionDescription& positional : command.positionals) text += option_text(positional);
  for (const OptionDescription& option : command.options) text += option_text(option);
  return text;
}

std::string subcommands_text(const CommandDescription& command) {
  std::string text;
  for (const CommandDescription& subcommand : command.subcommands) {
    text += fmt::format(".SS {}\n{}\n.PP\n{}.\n{}", bold(join_path(subcommand.path, " ")), synopsis(subcommand),
                        escape(subcommand.help), options_text(subcommand));
    text += subcommands_text(subcommand);
  }
  return text;
}

/// Returns a description as the line behind the name of a manual page: with a small letter, without a full stop.
std::string name_line(const CommandDescription& program) {
  std::string help = program.help;
  if (help.ends_with('.')) help.pop_back();
  if (!help.empty()) help.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(help.front())));
  return fmt::format("{} \\- {}", escape(program.name()), escape(help));
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

}  // namespace

std::string manual_page(const CommandDescription& program) {
  std::string text =
      fmt::format(".TH {} 1 \"\" \"Edgewise {}\" \"User Commands\"\n", escape(upper(program.name())), version());
  text += fmt::format(".SH NAME\n{}\n.SH SYNOPSIS\n{}\n", name_line(program), synopsis(program));
  text += fmt::format(".SH DESCRIPTION\n{}\n.SH OPTIONS\n{}", escape(program.help), options_text(program));
  if (!program.subcommands.empty()) text += ".SH SUBCOMMANDS\n" + subcommands_text(program);
  return text + std::string(kEnd);
}

}  // namespace edgewise
