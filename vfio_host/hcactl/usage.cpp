// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "usage.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace freehca::hcactl {
namespace {

std::string commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The options that the help shows.
std::string options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    if (option->nonpositional() && !option->get_group().empty())
      names.push_back(option->get_name());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string explain_usage(const CLI::App& app, const CLI::Error& e) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  if (commands.empty() && e.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError)) {
    const std::vector<std::string> given = app.remaining();
    return fmt::format("{}; the commands are {}",
                       given.empty() ? e.what() : fmt::format("'{}' is no command", given.front()),
                       commands_of(app));
  }
  if (!commands.empty() && e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError))
    return fmt::format("{}; {} has the options {}, {}", e.what(), commands.front()->get_name(),
                       options_of(*commands.front()), options_of(app));
  return e.what();
}

}  // namespace freehca::hcactl
