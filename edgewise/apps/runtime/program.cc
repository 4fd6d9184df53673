// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <new>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/process_limits.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/signal_handlers.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/address_space.h"
#include "edgewise/base/config/nearest_name.h"
#include "edgewise/base/error.h"
#include "edgewise/base/memory.h"
#include "edgewise/base/threads.h"
#include "edgewise/base/version.h"

namespace edgewise {
namespace {

constexpr int kInternalError = 1;

/// Returns the innermost subcommand on the command line, or the program itself if there is none.
const CLI::App& innermost_command(const CLI::App& program) {
  const auto subcommands = program.get_subcommands();
  return subcommands.empty() ? program : innermost_command(*subcommands.front());
}

std::vector<std::string> option_and_subcommand_names(const CLI::App& program) {
  std::vector<std::string> names;
  const CLI::App& command = innermost_command(program);
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* subcommand : command.get_subcommands(nullptr)) names.push_back(subcommand->get_name());
  return names;
}

std::string describe_error(const CLI::App& program, const CLI::ParseError& error) {
  const std::string name = full_name(innermost_command(program));
  const std::vector<std::string> unknown = innermost_command(program).remaining();
  if (!unknown.empty()) {
    const std::string& word = unknown.front();
    const auto nearest = nearest_name(word, option_and_subcommand_names(program));
    return fmt::format("{}: unknown {} {}{}", name, word.starts_with("-") ? "option" : "argument",
                       quote_unless_plain(word), nearest ? fmt::format("; did you mean {}?", *nearest) : "");
  }
  return fmt::format("{}: {}; see {} --help", name, error.what(), name);
}

std::string& error_prefix() {
  static std::string prefix;
  return prefix;
}

int report_error(int exit_code, const std::string& text) {
  print_error("{}{}\n", error_prefix(), printable(text));
  return exit_code;
}

/// Describes errors of the standard library that the machine or the size of the input causes, and no mistake of the
/// program; nothing for other errors.
std::optional<std::string> describe_system_failure(const std::exception& error) {
  if (const auto* space = dynamic_cast<const OutOfAddressSpace*>(&error)) {
    return "memory ran out: " + address_space_text(space->left(), space->needed());
  }
  const bool is_too_long = dynamic_cast<const std::length_error*>(&error) != nullptr;
  if (is_too_long || dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return out_of_memory_text();
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    return fmt::format("{}: {}", file->path1().string(), file->code().message());
  }
  if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
    return fmt::format(
        "the system refused threads or other resources: {}; raise its limit of processes (ulimit -u), or use fewer "
        "threads and workers",
        system->code().message());
  }
  return std::nullopt;
}

/// Returns the first line of a text: libtorch adds a stack trace in further lines.
std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

/// Prints what --help or --version requests.
void print_help(const CLI::App& program, const CLI::Success& request) {
  std::ostringstream text;
  program.exit(request, text, text);
  write_output(text.str());
}

int run_command(CLI::App& program, int argc, char** argv, ExplainError explain) {
  // All heavy work runs in parallel_for, whose threads do not disturb each other on a busy machine as OpenMP's do.
  const SerialOpenMpScope serial;
  try {
    program.parse(argc, argv);
    return 0;
  } catch (const EarlyExit& end) {
    return end.exit_code();
  } catch (const CLI::Success& request) {
    print_help(program, request);
    return 0;
  } catch (const CLI::ParseError& error) {
    return report_error(kUserErrorExitCode, describe_error(program, error));
  } catch (const Error& error) {
    return report_error(kUserErrorExitCode, error.what());
  } catch (const std::exception& error) {
    const std::string name = full_name(innermost_command(program));
    if (const auto reason = describe_system_failure(error))
      return report_error(kUserErrorExitCode, name + ": " + *reason);
    if (explain != nullptr) {
      if (const auto reason = explain(error)) return report_error(kUserErrorExitCode, name + ": " + *reason);
    }
    return report_error(kInternalError, fmt::format("{}: this is a mistake of ours, please report it: {}", name,
                                                    first_line(error.what())));
  }
}

}  // namespace

void set_error_prefix(const std::string& prefix) { error_prefix() = prefix; }

std::string out_of_memory_text() {
  return fmt::format(
      "memory ran out: the process used up to {}, and {} are left; {}use a smaller model, smaller batches, a narrower "
      "beam or shorter lines",
      memory_text(static_cast<double>(peak_memory())), memory_text(static_cast<double>(available_memory())),
      has_address_space_limit() ? "raise the limit of address space (ulimit -v), or " : "");
}

int run_program(CLI::App& program, int argc, char** argv, ExplainError explain) {
  prepare_standard_streams();
  const SignalHandlers handlers({SIGINT, SIGTERM, SIGHUP}, end_process);
  const int exit_code = run_command(program, argc, argv, explain);
  return finish_output(full_name(innermost_command(program)), exit_code);
}

int run_program_of_command(const std::string& name, const std::string& description, void (*make)(CLI::App& command),
                           int argc, char** argv) {
  return run_within_limits(name, kReservedAddressSpace, [&] {
    CLI::App program(description, name);
    program.set_version_flag("--version", fmt::format("{} {}", name, version()));
    make(program);
    return run_program(program, argc, argv);
  });
}

}  // namespace edgewise
