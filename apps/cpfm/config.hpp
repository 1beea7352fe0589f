// --config and --dump-config.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cpfm::app {

class TomlConfig final : public CLI::Config {
 public:
  // `app` knows which commands and options there are.
  explicit TomlConfig(const CLI::App& app) : app_(app) {}
  // Throws cpfm::Error that names the file, the line, and the key nearest to one that is not known.
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;
  // The options in force for the chosen command, as from_config reads them.
  std::string to_config(const CLI::App* app, bool, bool, std::string) const override;

 private:
  const CLI::App& app_;
};

// The options in force for the chosen command, without some.
std::string config_text(const CLI::App& app, const std::vector<const CLI::Option*>& leave_out = {});

// A configuration as values by full name: "seed", "fit.latent". Throws as from_config() does.
using Settings = std::map<std::string, std::vector<std::string>>;
Settings read_settings(const std::string& text, const std::string& file, const CLI::App& app);

}  // namespace cpfm::app
