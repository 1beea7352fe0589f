// The folder of a comparison: what it holds of each method, and whether that was made of the same data with the same
// options, so that it can stay.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "cli.hpp"
#include "cpfm/coupling.hpp"

namespace cpfm::app {

class CompareFolder {
 public:
  // The keys name the options of a fit and the data it is made of.
  CompareFolder(std::filesystem::path folder, std::string fit_key, std::string data_key)
      : folder_(std::move(folder)), fit_key_(std::move(fit_key)), data_key_(std::move(data_key)) {}

  const std::string& fit_key() const { return fit_key_; }
  std::filesystem::path of(const std::string& method) const { return folder_ / method; }
  // Throws where the method was begun with other options or samples: to go on would mix budgets.
  void refuse_other_options(const std::string& method) const;
  // Whether there is anything of it to go on with; options that were refused leave no more than themselves.
  bool begun(const std::string& method) const;
  bool fitted(const std::string& method);
  // Seconds of a fit that ended; null where there is none.
  Json seconds(const std::string& method) const;
  // What is known of a method under this key; nothing where it has to be measured.
  std::optional<Json> measured(const std::string& method, const std::string& key);

  // Before a fit: sets aside what it cannot use, and removes what belongs to an earlier one.
  void prepare(const std::string& method);
  void note_fitted(const std::string& method, double seconds);
  // Returns what it writes.
  Json note_measured(const std::string& method, const std::string& key, Json figures, Json run);

 private:
  Json fit_of(const std::string& method) const;
  const std::string& model_of(const std::string& method);

  std::filesystem::path folder_;
  std::string fit_key_, data_key_;
  std::map<std::string, std::string> models_;
};

// Whether there is a tensor file of this name. One that is damaged is set aside, with a warning, and is no longer
// there.
bool is_usable(const std::filesystem::path& file);
// The coupling in a file; nothing where there is none, or none that is usable.
std::optional<Coupling> usable_coupling(const std::filesystem::path& file);

}  // namespace cpfm::app
