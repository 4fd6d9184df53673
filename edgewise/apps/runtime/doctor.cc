// SPDX-License-Identifier: Apache-2.0
// edgewise doctor
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/memory.h"
#include "edgewise/base/threads.h"
#include "edgewise/base/version.h"
#include "edgewise/doctor/machine.h"
#include "edgewise/doctor/self_test.h"

namespace edgewise {
namespace {

constexpr int kSelfTestFailed = 1;

struct DoctorCommand {
  int threads = 0;
  bool is_json = false;
  std::string libtorch;  // its version, in a program that links it
};

/// Everything that the command reports before the self-test.
struct DoctorReport {
  Machine machine;
  KernelChoice kernels;
  std::vector<LibraryVersion> libraries;
  int threads;
};

/// The result of a self-test.
struct TestResult {
  std::string name;
  Finding finding;
  double seconds;
};

DoctorReport make_report(const DoctorCommand& command) {
  DoctorReport report = {.machine = examine_machine(),
                         .kernels = choose_kernels(),
                         .libraries = library_versions(),
                         .threads = num_threads()};
  if (!command.libtorch.empty()) report.libraries.push_back({"libtorch", command.libtorch});
  return report;
}

/// Returns advice about settings that make this process slower than the machine allows.
std::vector<std::string> list_notes(const DoctorReport& report) {
  std::vector<std::string> notes;
  const KernelChoice& kernels = report.kernels;
  if (kernels.instruction_set != kernels.runnable.back()) {
    notes.push_back(
        fmt::format("EDGEWISE_KERNELS is {}; {} is faster", kernels.instruction_set, kernels.runnable.back()));
  }
  const int cores = available_cores();
  if (report.threads > cores) {
    notes.push_back(
        fmt::format("{} threads share {} cores, which is slower than {} threads", report.threads, cores, cores));
  } else if (report.threads < cores) {
    notes.push_back(fmt::format("{} threads leave {} of {} cores idle", report.threads, cores - report.threads, cores));
  }
  return notes;
}

std::string_view bf16_text(bool is_fast) { return is_fast ? "bf16 instructions" : "fp32 instructions"; }

void print_line(std::string_view name, std::string_view text) { print_output("{:<13} {}\n", name, printable(text)); }

std::string cores_text(const DoctorReport& report) {
  const Machine& machine = report.machine;
  std::string text = fmt::format("{}, of which this process may use {}", machine.cores, machine.allowed_cores);
  if (machine.quota_cores) text += fmt::format("; its control group has a quota of {}", *machine.quota_cores);
  return text + fmt::format("; {} threads", report.threads);
}

std::string memory_line(const Machine& machine) {
  std::string text =
      fmt::format("{}, of which this process can allocate {}", memory_text(static_cast<double>(machine.memory)),
                  memory_text(static_cast<double>(machine.available_memory)));
  if (machine.group_memory) {
    text += fmt::format("; its control group allows {}", memory_text(static_cast<double>(*machine.group_memory)));
  }
  return text;
}

void print_machine(const DoctorReport& report) {
  const KernelChoice& kernels = report.kernels;
  print_line("edgewise", version());
  print_line("processor", report.machine.processor);
  print_line("instructions", fmt::format("{}", fmt::join(report.machine.instructions, " ")));
  print_line("cores", cores_text(report));
  print_line("memory", memory_line(report.machine));
  print_line("kernels", fmt::format("{}, {} {}", kernels.instruction_set,
                                    kernels.is_forced ? "by EDGEWISE_KERNELS, of" : "the best of",
                                    fmt::join(kernels.runnable, ", ")));
  print_line("oneDNN", fmt::format("{} instructions", kernels.onednn));
  print_line("bf16", fmt::format("training with {}, translating with {}", bf16_text(kernels.has_fast_bf16_training),
                                 bf16_text(kernels.has_fast_bf16_translation)));
  print_line("int8",
             kernels.has_fast_int8 ? "instructions that add four products" : "instructions that add two products");
  std::vector<std::string> libraries;
  for (const LibraryVersion& library : report.libraries) libraries.push_back(library.name + " " + library.version);
  print_line("libraries", fmt::format("{}", fmt::join(libraries, ", ")));
  for (const std::string& note : list_notes(report)) print_line("note", note);
  print_output("\n");
}

std::vector<TestResult> run_tests(bool is_printed) {
  using Clock = std::chrono::steady_clock;
  std::vector<TestResult> results;
  for (const SelfTest& test : self_tests()) {
    // The name comes first: if the processor lacks an instruction, the process ends in the test.
    if (is_printed) print_output("{:<32} ", test.name);
    const auto start = Clock::now();
    Finding finding = run_self_test(test);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (is_printed) print_output("{}  {}\n", finding.is_right ? "right" : "WRONG", printable(finding.text));
    results.push_back({std::string(test.name), std::move(finding), seconds});
  }
  return results;
}

bool are_right(const std::vector<TestResult>& results) {
  return std::ranges::all_of(results, [](const TestResult& result) { return result.finding.is_right; });
}

void print_summary(const std::vector<TestResult>& results) {
  double seconds = 0;
  for (const TestResult& result : results) seconds += result.seconds;
  const auto num_right =
      std::ranges::count_if(results, [](const TestResult& result) { return result.finding.is_right; });
  print_output("\n{} of {} tests are right, in {:.1f} s\n", num_right, results.size(), seconds);
}

std::string optional_json(const std::optional<std::int64_t>& number) {
  return number ? std::to_string(*number) : "null";
}

std::string report_json(const DoctorReport& report, const std::vector<TestResult>& results) {
  const Machine& machine = report.machine;
  const KernelChoice& kernels = report.kernels;
  JsonObject libraries;
  for (const LibraryVersion& library : report.libraries) libraries.add(library.name, library.version);
  return JsonObject()
      .add("edgewise", version())
      .add("processor", machine.processor)
      .add_json("instructions", json_array(machine.instructions, quote_json))
      .add_json("cores", JsonObject()
                             .add("machine", machine.cores)
                             .add("allowed", machine.allowed_cores)
                             .add_json("quota", optional_json(machine.quota_cores))
                             .add("threads", report.threads)
                             .text())
      .add_json("memory", JsonObject()
                              .add("machine", machine.memory)
                              .add("available", machine.available_memory)
                              .add_json("group", optional_json(machine.group_memory))
                              .text())
      .add_json("kernels", JsonObject()
                               .add("in_force", kernels.instruction_set)
                               .add("is_forced", kernels.is_forced)
                               .add_json("runnable", json_array(kernels.runnable, quote_json))
                               .add("onednn", kernels.onednn)
                               .add("has_fast_bf16_training", kernels.has_fast_bf16_training)
                               .add("has_fast_bf16_translation", kernels.has_fast_bf16_translation)
                               .add("has_fast_int8", kernels.has_fast_int8)
                               .text())
      .add_json("libraries", libraries.text())
      .add_json("notes", json_array(list_notes(report), quote_json))
      .add_json("tests", json_array(results,
                                    [](const TestResult& result) {
                                      return JsonObject()
                                          .add("name", result.name)
                                          .add("is_right", result.finding.is_right)
                                          .add("finding", result.finding.text)
                                          .add("seconds", result.seconds)
                                          .text();
                                    }))
      .add("is_right", are_right(results))
      .text();
}

void run_doctor(const DoctorCommand& command) {
  use_threads(command.threads);
  const DoctorReport report = make_report(command);
  if (!command.is_json) print_machine(report);
  const std::vector<TestResult> results = run_tests(/*is_printed=*/!command.is_json);
  if (command.is_json) {
    print_output("{}\n", report_json(report, results));
  } else {
    print_summary(results);
  }
  if (!are_right(results)) throw EarlyExit(kSelfTestFailed);
}

}  // namespace

void make_doctor_command(CLI::App& doctor, const std::string& libtorch) {
  auto command = std::make_shared<DoctorCommand>();
  command->libtorch = libtorch;
  add_threads_option(doctor, command->threads);
  doctor.add_flag("--json", command->is_json, "print the report and the results of the self-test as JSON");
  doctor.callback([command] { run_doctor(*command); });
}

void add_doctor(CLI::App& program, const std::string& libtorch) {
  make_doctor_command(
      *program.add_subcommand("doctor", "Describe this machine and what will be used of it, and test it"), libtorch);
}

}  // namespace edgewise
