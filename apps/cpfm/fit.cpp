#include "fit.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "folder_lock.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;
namespace {

// What the network learns from: the data, or where those are molecules, points that stand for them.
class Learned {
 public:
  Learned(const FitRequest& request, FlowEntry& flow, const Context& context) : data_(request.data) {
    if (data_.molecules.empty()) return;
    SequenceVaeOptions options = request.molecules.options;
    options.device = request.train.options.device;
    if (!is_there(request.folder / "config.toml")) write_config(request.folder, request.config);
    coder_.emplace(coder_of_run(request.folder, data_, options, flow, context));
    points_ = as_points(data_, coder_->encode(data_));
  }
  const Dataset& data() const { return coder_ ? points_ : data_; }
  const MoleculeCoder* coder() const { return coder_ ? &*coder_ : nullptr; }

 private:
  static bool is_there(const fs::path& file) {
    std::error_code ignored;
    return fs::exists(file, ignored);
  }

  const Dataset& data_;
  std::optional<MoleculeCoder> coder_;
  Dataset points_;
};

// A method that makes a map of its own.
RunResult fit_without_coupling(const FitRequest& request, FlowEntry& flow, const Context& context) {
  const std::string& method = request.train.options.method;
  const bool trains = method != "kpca" && method != "tsne";
  const TrainOptions options = trains ? request.train.resolve(context, request.data, flow) : request.train.options;
  // What is made in one go is made again only where its report is missing.
  const bool again = request.resume && (trains || !fs::exists(request.folder / "report.html"));
  if (request.resume && !again && method == "kpca") {
    throw Error("--resume", fmt::format("{} holds a finished run", printable(request.folder.string(), 200)),
                "kernel PCA is fitted in one go, and there is nothing to go on with");
  }
  if (again)
    require_run_of(request.folder, request.command, trains);
  else
    refuse_other_run(request.folder, true);
  const int asked = request.couple.options.latent_options.dim;
  const std::size_t dim = asked > 0 ? static_cast<std::size_t>(asked) : 2;
  if (method == "tsne") {
    constexpr std::size_t kFewest = 8;
    if (dim != 2) throw Error("--dim", fmt::format("is {}, and t-SNE is for the plane", dim), "2");
    if (request.data.size() < kFewest) {
      throw Error(request.data.source, fmt::format("has {} samples", request.data.size()),
                  fmt::format("t-SNE needs at least {}", kFewest));
    }
    const double most = static_cast<double>(request.data.size() - 1) / 3, near = request.train.perplexity.value_or(2);
    if (!(near > 1 && near < most)) {
      throw Error("--perplexity", fmt::format("{} of {} samples", near, request.data.size()),
                  fmt::format("more than 1 and less than {:.4g}, a third of the others", most));
    }
  }
  if (method == "kpca" && request.data.size() <= dim) {
    throw Error(request.data.source, fmt::format("has {} samples", request.data.size()),
                fmt::format("kernel PCA in {} dimensions needs at least {}", dim, dim + 1));
  }
  make_run_folder(request.folder);
  const FolderLock lock(request.folder);
  const Learned learned(request, flow, context);
  Run run{request.folder, learned.data(), nullptr,        request.applied, options, "none", dim,
          request.resume, request.config, learned.coder()};
  run.perplexity = request.train.perplexity;
  run.sigma = request.train.sigma;
  run.sampling = request.sampling;
  if (trains) return train_run(run, flow, context);
  return method == "kpca" ? kernel_pca_run(run, context) : tsne_run(run, context);
}

// The coupling of a folder: the one that is there, or a new one, begun or gone on with.
Coupling coupling_of(const FitRequest& request, CoupleOptions options, const Context& context) {
  const fs::path file = request.folder / "coupling.cpfm";
  if (fs::exists(file)) return Coupling::load(file);
  options.checkpoint = file.string() + ".partial";
  options.resume = request.resume && fs::exists(options.checkpoint);
  if (!options.resume) write_config(request.folder, request.config);  // couple() has yet to compare what it resumes
  const auto progress = context.progress();
  try {
    Coupling made = couple(request.data, options, progress.get());
    made.save(file);
    std::error_code ignored;
    fs::remove(options.checkpoint, ignored);
    return made;
  } catch (const Interrupted&) {
    if (!fs::exists(options.checkpoint)) throw;  // before there was anything to keep
    throw Interrupted(
        fmt::format("{} holds the state; the same command with --resume goes on", request.folder.string()));
  }
}

}  // namespace

RunResult fit(const FitRequest& request, FlowEntry& flow, const Context& context) {
  request.molecules.check(request.data);
  if (request.train.options.method != "cpfm") return fit_without_coupling(request, flow, context);
  CoupleOptions couple_options = request.couple.resolve(context, request.data.size());
  const TrainOptions options = request.train.resolve(context, request.data, flow);
  couple_options.device = coupling_device(options.device);
  if (request.resume)
    require_same_coupling(request.folder, request.command, request.config, fingerprint(request.data));
  else
    refuse_other_run(request.folder, true);
  make_run_folder(request.folder);
  const FolderLock lock(request.folder);
  Coupling coupling = coupling_of(request, couple_options, context);
  coupling.plan.use(couple_options.device);
  const Learned learned(request, flow, context);
  Run run{request.folder,         learned.data(), &coupling,      request.applied, options,      request.train.pairs,
          coupling.latent.cols(), request.resume, request.config, learned.coder(), &request.data};
  run.sampling = request.sampling;
  return train_run(run, flow, context);
}

Device coupling_device(const std::string& name) {
  if (!name.starts_with("cuda")) return choose_device(name);
  try {
    return choose_device(name);
  } catch (const Error& error) {
    log().warn("the coupling is computed on the CPU: {}", error.problem());
    return {};
  }
}

}  // namespace cpfm::app
