#include "model_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "base/text.hpp"
#include "cpfm/baseline.hpp"
#include "cpfm/error.hpp"
#include "flow_library.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;
namespace {

// As a shell takes it.
std::string word(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c >= 0x80 || c == '_' || c == '-' || c == '.';
  });
  if (plain && !name.empty()) return printable(name);
  std::string quoted;
  for (const char c : name) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + printable(quoted) + "'";
}

std::string listed(const std::vector<std::string>& names, const char* before, const char* between) {
  constexpr std::size_t kMost = 6;
  std::string text;
  for (std::size_t k = 0; k < std::min(names.size(), kMost); ++k)
    text += fmt::format("{}{}{}", k == 0 ? "" : between, before, word(names[k]));
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

[[noreturn]] void refuse_columns(const Dataset& data, const std::vector<std::string>& missing,
                                 const std::vector<std::string>& extra) {
  std::string problem = "its columns are not those the model was made of;", remedy;
  if (!missing.empty()) {
    problem += fmt::format(" missing: {}{}", listed(missing, "", ", "), extra.empty() ? "" : ";");
    remedy = "the model needs every column it was made of, as a column of numbers";
  }
  if (!extra.empty()) {
    problem += fmt::format(" extra: {}", listed(extra, "", ", "));
    if (!remedy.empty()) remedy += "; ";
    remedy += fmt::format("leave out what is extra with {}, or say --labels or --property where it is that",
                          listed(extra, "--ignore ", " "));
  }
  throw Error(data.source, std::move(problem), std::move(remedy));
}

}  // namespace

void add_model_argument(CLI::App& command, std::string& model) {
  command.add_option("MODEL", model, "What 'cpfm fit' or 'cpfm train' wrote: RUN/model.cpfm, or RUN")->required();
}

std::unique_ptr<FlowModel> open_model(const std::string& model, const std::string& device) {
  fs::path file = model;
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) {
    bool begun = false;
    for (const char* left :
         {"checkpoint.cpfm", "coupling.cpfm", "coupling.cpfm.partial", "molecules.cpfm", "molecules.cpfm.partial"})
      begun = begun || fs::exists(file / left, ignored);
    file /= "model.cpfm";
    if (!fs::exists(file, ignored) && fs::exists(file.parent_path() / "embedding.csv", ignored)) {
      throw Error(model, "holds a map alone, by a method that makes no model",
                  "other methods place new samples and go back: --method cpfm");
    }
    if (!fs::exists(file, ignored)) {
      throw Error(model, "is a folder without a model.cpfm",
                  begun ? "its run is not finished; go on with --resume" : "name a model, or the folder of a run");
    }
  }
  if (is_kernel_pca(file)) return load_kernel_pca_model(file);
  return flow_library().load_model(file, device);
}

void match_columns(Dataset& data, const ModelFacts& facts) {
  const std::vector<std::string>&wanted = facts.feature_names, &found = data.feature_names;
  if (!wanted.empty() && !found.empty() && wanted != found) {
    // Columns by name; those that share one keep their order.
    std::multimap<std::string, std::size_t> left;
    for (std::size_t k = 0; k < found.size(); ++k) left.emplace(found[k], k);
    std::vector<std::size_t> columns;
    std::vector<std::string> missing, extra;
    for (const std::string& name : wanted) {
      const auto at = left.lower_bound(name);
      if (at == left.end() || at->first != name) {
        missing.push_back(name);
        continue;
      }
      columns.push_back(at->second);
      left.erase(at);
    }
    std::vector<std::size_t> unwanted;
    for (const auto& [name, column] : left) unwanted.push_back(column);
    std::sort(unwanted.begin(), unwanted.end());
    for (const std::size_t column : unwanted) extra.push_back(found[column]);
    if (!missing.empty() || !extra.empty()) refuse_columns(data, missing, extra);
    std::vector<float> row(columns.size());
    for (std::size_t i = 0; i < data.size(); ++i) {
      const std::span<float> values = data.samples.row(i);
      for (std::size_t k = 0; k < columns.size(); ++k) row[k] = values[columns[k]];
      std::copy(row.begin(), row.end(), values.begin());
    }
    data.feature_names = wanted;
  }
  if (data.dim() == facts.dim) return;
  const std::string shape =
      facts.image ? fmt::format(" ({} x {} x {})", facts.image->channels, facts.image->height, facts.image->width) : "";
  throw Error(data.source,
              fmt::format("has {} features, and the model was made for {} features{}", data.dim(), facts.dim, shape),
              "give data of the same kind");
}

}  // namespace cpfm::app
