#include "compare_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/log.hpp"
#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/model.hpp"
#include "whole_file.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;
namespace {

// Written last: a fit that ended, and what was measured of it, each with what it depends on.
constexpr const char *kFitted = "fitted.json", *kMeasured = "evaluation.json";
constexpr const char* kModel = "model.cpfm";

// Methods that are fitted in another way from a version on have another number here, and are made again. Of kernel PCA
// alone for now: a method that is trained would go on from its checkpoint.
int fitted_as(const std::string& method) { return method == "kpca" ? 2 : 1; }

// What two configurations say differently: "steps = 4 here and steps = 60 there".
std::string difference(const std::string& mine, const std::string& theirs) {
  const auto only = [](const std::string& in, const std::string& other) {
    std::string found;
    for (std::size_t at = 0; at < in.size();) {
      const std::size_t end = std::min(in.find('\n', at), in.size());
      const std::string line = in.substr(at, end - at);
      if (!line.empty() && ("\n" + other).find("\n" + line + "\n") == std::string::npos)
        found += (found.empty() ? "" : ", ") + line;
      at = end + 1;
    }
    return found.empty() ? std::string("nothing of it") : found;
  };
  return fmt::format("{} here, and {} there", printable(only(mine, theirs), 200), printable(only(theirs, mine), 200));
}

// A figure as Evaluation::measure() writes it, with numbers that can be written down.
bool is_figure(const Json& figure) {
  const auto finite = [&](const char* key) {
    return figure.contains(key) && figure[key].is_number() && std::isfinite(figure[key].get<double>());
  };
  const auto is_single = [&] { return figure["runs"] == 1 && figure.contains("sd") && figure["sd"].is_null(); };
  return figure.is_object() && figure.contains("runs") && figure["runs"].is_number_unsigned() && finite("mean") &&
         (finite("sd") || is_single());
}

// Keeps a file under a name that is free, and tells why.
void set_aside(const fs::path& file, const std::string& why) {
  std::error_code failed;
  fs::path free = file.string() + ".unreadable";
  for (int k = 2; fs::exists(free, failed); ++k) free = fmt::format("{}.unreadable{}", file.string(), k);
  fs::rename(file, free, failed);
  if (failed)
    throw Error(file.string(), fmt::format("cannot be kept under another name: {}", failed.message()),
                "move it, or name another OUT");
  log().warn("{}; it is kept as {}", why, printable(free.filename().string()));
}

}  // namespace

void CompareFolder::refuse_other_options(const std::string& method) const {
  if (!begun(method)) return;
  const std::string there = content_of(of(method) / "config.toml");
  if (const Json saved = fit_of(method); saved["options"] == fit_key_) {
    if (saved["data"] == data_key_) return;
    throw Error(
        "--output", fmt::format("{} was made of other data", printable(of(method).string(), 200)),
        "give the same DATA and --test, without which a part of DATA is left out, and the same files to options "
        "that name some; or name another OUT");
  }
  if (there.empty() || there == fit_key_) return;
  throw Error("--output",
              fmt::format("{} was begun with other options: {}", printable(of(method).string(), 200),
                          difference(fit_key_, there)),
              "give the same options to go on, or name another OUT: all methods of one have the same budget");
}

bool CompareFolder::begun(const std::string& method) const {
  const auto there = [&](const char* file) { return fs::exists(of(method) / file); };
  return there("coupling.cpfm") || there("coupling.cpfm.partial") || there("checkpoint.cpfm") || there(kModel);
}

// What a fit that ended was made with and of; nulls where there is none.
Json CompareFolder::fit_of(const std::string& method) const {
  const Json saved = Json::parse(content_of(of(method) / kFitted), nullptr, false);
  const auto field = [&](const char* name, Json otherwise) {
    return saved.is_object() ? saved.value(name, otherwise) : Json();
  };
  return {{"options", field("options", {})},
          {"data", field("data", {})},
          {"seconds", field("seconds", {})},
          {"as", field("as", 1)}};
}

bool CompareFolder::fitted(const std::string& method) {
  const Json saved = fit_of(method);
  return saved["options"] == fit_key_ && saved["data"] == data_key_ && saved["as"] == fitted_as(method) &&
         !model_of(method).empty();
}

Json CompareFolder::seconds(const std::string& method) const { return fit_of(method)["seconds"]; }

// What tells its model from another; nothing where there is none, or none that can be used. Read once: it is large.
const std::string& CompareFolder::model_of(const std::string& method) {
  const auto [known, is_new] = models_.try_emplace(method);
  const fs::path file = of(method) / kModel;
  std::error_code ignored;
  if (is_new && fs::exists(file, ignored)) {
    try {
      const TensorFile opened = TensorFile::open(file);
      const auto sum = opened.metadata().find(kChecksumKey);
      known->second =
          sum == opened.metadata().end() ? fmt::format("{:016x}", fingerprint(bytes_of(file))) : sum->second;
    } catch (const DamagedFile&) {  // prepare() tells
    }
  }
  return known->second;
}

std::optional<Json> CompareFolder::measured(const std::string& method, const std::string& key) {
  if (!fitted(method)) return std::nullopt;
  const Json saved = Json::parse(content_of(of(method) / kMeasured), nullptr, false);
  if (!saved.is_object() || saved.value("key", Json()) != key || saved.value("model", Json()) != model_of(method))
    return std::nullopt;
  const Json figures = saved.value("figures", Json()), run = saved.value("run", Json());
  if (!figures.is_object() || !run.is_object() || !std::all_of(figures.begin(), figures.end(), is_figure))
    return std::nullopt;
  return saved;
}

void CompareFolder::prepare(const std::string& method) {
  const fs::path folder = of(method);
  std::error_code ignored;
  usable_coupling(folder / "coupling.cpfm");
  is_usable(folder / "coupling.cpfm.partial");
  const bool goes_on = is_usable(folder / "checkpoint.cpfm");
  if (is_usable(folder / kModel)) {
    const Json as = fit_of(method)["as"];
    if (!as.is_null() && as != fitted_as(method))
      set_aside(folder / kModel, fmt::format("{} was fitted by an earlier version, in another way", method));
    else if (method != "kpca" && !goes_on)  // of kernel PCA the same is made once more
      set_aside(folder / kModel,
                fmt::format("{} has a model, and no checkpoint that tells how it was trained", method));
  }
  if (!begun(method)) fs::remove(folder / "config.toml", ignored);
  for (const char* written_last : {kFitted, "report.html"}) fs::remove(folder / written_last, ignored);
}

void CompareFolder::note_fitted(const std::string& method, double seconds) {
  const Json made{{"options", fit_key_}, {"data", data_key_}, {"seconds", seconds}, {"as", fitted_as(method)}};
  write_whole(of(method) / kFitted, made.dump(2) + "\n");
  models_.erase(method);
}

Json CompareFolder::note_measured(const std::string& method, const std::string& key, Json figures, Json run) {
  const Json found{{"key", key}, {"model", model_of(method)}, {"figures", std::move(figures)}, {"run", std::move(run)}};
  write_whole(of(method) / kMeasured, found.dump(2) + "\n");
  return found;
}

bool is_usable(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return false;
  try {
    TensorFile::open(file);
    return true;
  } catch (const DamagedFile& error) {
    set_aside(file, error.what());
  }
  return false;
}

std::optional<Coupling> usable_coupling(const fs::path& file) {
  if (!is_usable(file)) return std::nullopt;
  try {
    return Coupling::load(file);
  } catch (const Error& error) {  // whole, and no coupling
    set_aside(file, error.what());
  }
  return std::nullopt;
}

}  // namespace cpfm::app
