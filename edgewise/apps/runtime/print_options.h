// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <string>
#include <utility>

namespace edgewise {

/// The exception of an option that asks for a text instead of running a command.
class PrintRequest : public std::exception {
 public:
  explicit PrintRequest(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Adds --print-manual and --print-completion, which throw a PrintRequest. Add all other options before.
void add_print_options(CLI::App& program);

}  // namespace edgewise
