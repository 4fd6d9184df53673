// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <optional>
#include <string>

namespace edgewise {

/// Explains an exception of a library that only some programs link, such as libtorch. Returns nothing for an exception
/// that only a mistake in this program can cause.
using ExplainError = std::optional<std::string> (*)(const std::exception& error);

/// Prepares the standard streams, parses the arguments, which runs the given command, and returns the exit code: 0 for
/// success, 1 after an internal error, 2 after a mistake of the user, a failure to print, and when the machine has too
/// little memory or other resources, 128 + n after signal n. Prints errors on standard error, in one line without
/// characters that could control a terminal. A signal that the command does not handle ends the process; unfinished
/// files are removed.
int run_program(CLI::App& program, int argc, char** argv, ExplainError explain = nullptr);

/// Runs a program that `make` turns into one command, within the limits of the process (process_limits.h). Returns the
/// exit code.
int run_program_of_command(const std::string& name, const std::string& description, void (*make)(CLI::App& command),
                           int argc, char** argv);

/// Runs the program `edgewise`, which has all commands, with the arguments of main().
int run_edgewise(int argc, char** argv);

/// Sets a text that run_program prints before each error, such as the number of the process; initially "".
void set_error_prefix(const std::string& prefix);

/// Describes how much memory was used and is left, when there was too little.
std::string out_of_memory_text();

/// The exception of a command that ends with an exit code and has printed everything.
class EarlyExit : public std::exception {
 public:
  explicit EarlyExit(int exit_code) : exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

/// The exception of a command that ended early because of a signal.
class SignalExit : public EarlyExit {
 public:
  explicit SignalExit(int signal) : EarlyExit(128 + signal) {}
};

// Each function adds the subcommand of its name: it declares the options, and a callback that runs the command when the
// program parses it. Commands throw Error for mistakes of the user.

void add_train(CLI::App& program);
void add_vocab(CLI::App& program);
void add_distil(CLI::App& program);
void add_average(CLI::App& program);
void add_quantise(CLI::App& program);
void add_shortlist(CLI::App& program);
void add_calibrate(CLI::App& program);
void add_import(CLI::App& program);
void add_export(CLI::App& program);
void add_compare(CLI::App& program);
void add_translate(CLI::App& program);
/// Makes `command` itself the translate command.
void make_translate_command(CLI::App& command);
void add_generate(CLI::App& program);
void add_serve(CLI::App& program);
/// Makes `command` itself the serve command.
void make_serve_command(CLI::App& command);
void add_score_pairs(CLI::App& program);
/// `libtorch` is the version of libtorch in a program that links it.
void add_doctor(CLI::App& program, const std::string& libtorch);
/// Makes `command` itself the doctor command.
void make_doctor_command(CLI::App& command, const std::string& libtorch = "");
void add_inspect(CLI::App& program);
void add_score(CLI::App& program);
void add_perplexity(CLI::App& program);
void add_picture(CLI::App& program);

// Subcommands of `edgewise bench`.
void add_bench_train(CLI::App& bench);
void add_bench_attention(CLI::App& bench);
void add_bench_message(CLI::App& bench);
void add_bench_decode(CLI::App& bench);
void add_bench_generate(CLI::App& bench);

}  // namespace edgewise
