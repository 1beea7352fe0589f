// cpfm data info | convert | list | get
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.hpp"
#include "checks.hpp"
#include "cli.hpp"
#include "cpfm/error.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;
namespace {

struct Summary {
  float low = 0, high = 0;
  double mean = 0;
};

Summary summarise(std::span<const float> values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  double sum = 0;
  for (const float v : values) sum += v;
  return {*low, *high, sum / static_cast<double>(values.size())};
}

std::array<float, 2> black_and_white(const Dataset& data) {
  if (data.value_range) return *data.value_range;
  const Summary summary = summarise(data.samples.values());
  return {summary.low, summary.high};
}

// `option` is the one that names the file.
void write_contact_sheet(const char* option, const std::string& file, const Dataset& data, std::size_t pictures) {
  if (!data.image) {
    throw Error(option, fmt::format("{} does not hold pictures", data.source),
                "--image CxHxW declares rows to be pictures");
  }
  GridOptions grid;
  grid.range = black_and_white(data);
  write_png_grid(file, {data.samples.data(), std::min(pictures, data.size()), data.dim()}, *data.image, grid);
}

Json describe(const Dataset& data) {
  const Summary values = summarise(data.samples.values());
  Json out{{"source", data.source},
           {"format", data.format},
           {"n", data.size()},
           {"dim", data.dim()},
           {"dtype", data.dtype},
           {"memory_bytes", data.samples.size() * sizeof(float)},
           {"values", {{"min", values.low}, {"max", values.high}, {"mean", values.mean}}}};
  if (data.image) {
    out["image"] = {{"channels", data.image->channels}, {"height", data.image->height}, {"width", data.image->width}};
    if (data.value_range) out["image"].update({{"black", (*data.value_range)[0]}, {"white", (*data.value_range)[1]}});
  }
  if (!data.molecules.empty()) {
    std::size_t longest = 0;
    for (const std::string& smiles : data.molecules) longest = std::max(longest, smiles.size());
    out["molecules"] = {{"longest_smiles", longest}, {"mean_bits_on", values.mean * static_cast<double>(data.dim())}};
  }
  if (data.labels) {
    std::vector<std::size_t> counts(data.labels->names.size());
    std::size_t unlabelled = 0;
    for (const std::int32_t id : data.labels->ids) ++(id < 0 ? unlabelled : counts[static_cast<std::size_t>(id)]);
    Json classes = Json::array();
    for (std::size_t c = 0; c < counts.size(); ++c) {
      classes.push_back({{"name", printable(data.labels->names[c], 200)}, {"count", counts[c]}});
    }
    out["labels"] = {{"classes", classes}, {"unlabelled", unlabelled}};
  }
  out["properties"] = Json::array();
  for (const Property& property : data.properties) {
    const Summary summary = summarise(property.values);
    out["properties"].push_back(
        {{"name", printable(property.name, 200)}, {"min", summary.low}, {"max", summary.high}, {"mean", summary.mean}});
  }
  if (!data.feature_names.empty()) {
    Json names = Json::array();
    for (const std::string& name : data.feature_names) names.push_back(printable(name, 200));
    out["features"] = names;
  }
  return out;
}

void print_description(const Json& info) {
  fmt::print("{}\n", printable(info["source"].get<std::string>(), 200));
  const auto line = [](const char* what, const std::string& text) { fmt::print("  {:<11} {}\n", what, text); };
  line("samples", fmt::format("{} x {} ({} in the file, {} in memory)", info["n"].get<std::size_t>(),
                              info["dim"].get<std::size_t>(), info["dtype"].get<std::string>(),
                              human_bytes(info["memory_bytes"].get<double>())));
  line("format", info["format"].get<std::string>());
  if (info.contains("image")) {
    const Json& image = info["image"];
    std::string text = fmt::format("{} x {} x {} (channels x height x width)", image["channels"].get<int>(),
                                   image["height"].get<int>(), image["width"].get<int>());
    if (image.contains("black")) {
      text += fmt::format(", black {:g}, white {:g}", image["black"].get<double>(), image["white"].get<double>());
    }
    line("pictures", text);
  }
  if (info.contains("molecules")) {
    const Json& molecules = info["molecules"];
    line("molecules", fmt::format("{} as Morgan fingerprints of {} bits, {:.1f} on at a mean; longest SMILES of {} "
                                  "characters{}",
                                  info["n"].get<std::size_t>(), info["dim"].get<std::size_t>(),
                                  molecules["mean_bits_on"].get<double>(),
                                  molecules["longest_smiles"].get<std::size_t>(), left_out_text(info)));
  }
  const auto range = [](const Json& s) {
    return fmt::format("{:.6g} to {:.6g}, mean {:.6g}", s["min"].get<double>(), s["max"].get<double>(),
                       s["mean"].get<double>());
  };
  line("values", range(info["values"]));
  constexpr std::size_t kShown = 20;
  if (info.contains("features")) {
    std::string names;
    for (std::size_t i = 0; i < std::min(kShown, info["features"].size()); ++i) {
      names += (i == 0 ? "" : ", ") + info["features"][i].get<std::string>();
    }
    if (info["features"].size() > kShown) names += fmt::format(", … ({} in all)", info["features"].size());
    line("features", names);
  }
  if (info.contains("labels")) {
    const Json& classes = info["labels"]["classes"];
    std::string text = fmt::format("{}:", classes.size());
    for (std::size_t i = 0; i < std::min(kShown, classes.size()); ++i) {
      text += fmt::format("{} {} ({})", i == 0 ? "" : ",", classes[i]["name"].get<std::string>(),
                          classes[i]["count"].get<std::size_t>());
    }
    if (classes.size() > kShown) text += ", …";
    line("classes", text);
    if (const auto unlabelled = info["labels"]["unlabelled"].get<std::size_t>(); unlabelled > 0) {
      line("unlabelled", std::to_string(unlabelled));
    }
  } else {
    line("classes", "none");
  }
  for (const Json& property : info["properties"]) {
    line("property", fmt::format("{}: {}", property["name"].get<std::string>(), range(property)));
  }
  if (info.contains("png")) line("written", printable(info["png"].get<std::string>(), 200));
}

void add_info(CLI::App& parent, Context& context) {
  auto* command = parent.add_subcommand("info", "What a dataset holds: shape, type, ranges, classes");
  command->footer(
      "Examples:\n"
      "  cpfm data info digits --png digits.png\n"
      "  cpfm data info cells.h5ad --labels obs:cell_type\n"
      "  cpfm data info table.csv --labels species --property mass\n"
      "  cpfm data info molecules.csv --property mu --on-bad-row skip");
  const auto data_options = std::make_shared<DataOptions>();
  data_options->add_to(*command);
  const auto png = std::make_shared<std::string>();
  const auto pictures = std::make_shared<std::size_t>(100);
  command->add_option("--png", *png, "Also draw a contact sheet of the first pictures into this file");
  command->add_option("--pictures", *pictures, "How many pictures the contact sheet shows")
      ->transform(whole_number(1, 1000000))
      ->type_name("N")
      ->capture_default_str();
  command->callback([=, &context] {
    if (!png->empty() && lower(fs::path(*png).extension().string()) != ".png")
      throw Error("--png", fmt::format("'{}' does not end in .png", printable(*png, 200)), "only PNG is written");
    const Dataset data = data_options->load(context);
    if (!png->empty()) write_contact_sheet("--png", *png, data, *pictures);
    Json info = describe(data);
    data_options->tell_left_out(info);
    if (!png->empty()) info["png"] = *png;
    if (context.json)
      context.print(info);
    else
      print_description(info);
  });
}

void add_convert(CLI::App& parent, Context& context) {
  auto* command = parent.add_subcommand("convert", "Write a dataset as .npy, .csv or a .png contact sheet");
  command->footer(
      "Examples:\n"
      "  cpfm data convert cells.h5ad --labels obs:cell_type -o cells.csv\n"
      "  cpfm data convert photos/ --image-size 64 -o photos.npy");
  const auto data_options = std::make_shared<DataOptions>();
  data_options->add_to(*command);
  const auto out = std::make_shared<std::string>();
  command->add_option("-o,--output", *out, "File to write: .npy (samples alone), .csv (all) or .png")->required();
  command->callback([=, &context] {
    const std::string extension = lower(fs::path(*out).extension().string());
    if (extension != ".npy" && extension != ".csv" && extension != ".png") {
      throw Error("--output", fmt::format("'{}' has no known extension", printable(*out, 200)),
                  ".npy, .csv and .png are written");
    }
    const Dataset data = data_options->load(context);
    if (extension == ".npy")
      write_npy(*out, data.samples.view());
    else if (extension == ".csv")
      write_csv(*out, data);
    else
      write_contact_sheet("--output", *out, data, data.size());
    Json result{{"output", *out}, {"n", data.size()}, {"dim", data.dim()}};
    data_options->tell_left_out(result);
    if (context.json)
      context.print(result);
    else
      fmt::print("{}: {} x {}{}\n", printable(*out, 200), data.size(), data.dim(), left_out_text(result));
  });
}

void add_list(CLI::App& parent, Context& context) {
  auto* command = parent.add_subcommand("list", "The datasets cpfm knows by name");
  command->callback([&context] {
    Json list = Json::array();
    list.push_back(
        {{"name", "digits"}, {"where", "built in"}, {"description", "1,797 handwritten digits, 8 x 8, 10 classes"}});
    for (const RemoteDataset& remote : remote_datasets()) {
      list.push_back(
          {{"name", remote.name}, {"where", "cpfm data get " + remote.name}, {"description", remote.description}});
    }
    if (context.json) {
      context.print({{"datasets", list}});
      return;
    }
    for (const Json& entry : list) {
      fmt::print("{:<10} {:<22} {}\n", entry["name"].get<std::string>(), entry["where"].get<std::string>(),
                 entry["description"].get<std::string>());
    }
  });
}

void add_get(CLI::App& parent, Context& context) {
  auto* command = parent.add_subcommand("get", "Download a dataset and verify its checksums");
  command->footer("Example:\n  cpfm data get mnist --to data/mnist");
  const auto name = std::make_shared<std::string>();
  const auto to = std::make_shared<std::string>();
  command->add_option("NAME", *name, "mnist or cifar10")->required();
  command->add_option("--to", *to, "Folder for the files (default: data/NAME)");
  command->callback([=, &context] {
    if (*name == "digits") throw Error(*name, "is built in", "use it by its name: cpfm data info digits");
    const fs::path folder = to->empty() ? fs::path("data") / *name : fs::path(*to);
    const auto progress = context.progress();
    const auto files = fetch_dataset(*name, folder, progress.get());
    Json paths = Json::array();
    for (const fs::path& file : files) paths.push_back(file.string());
    if (context.json) {
      context.print({{"name", *name}, {"folder", folder.string()}, {"files", paths}});
      return;
    }
    for (const fs::path& file : files) fmt::print("{}\n", printable(file.string(), 200));
  });
}

}  // namespace

void add_data_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("data", "Look at, convert and download datasets");
  command->require_subcommand(1);
  add_info(*command, context);
  add_convert(*command, context);
  add_list(*command, context);
  add_get(*command, context);
}

}  // namespace cpfm::app
