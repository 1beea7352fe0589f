// The options of stage 1, shared by every command that couples.
#include <fmt/format.h>

#include <limits>

#include "checks.hpp"
#include "cli.hpp"
#include "cpfm/error.hpp"
#include "data/columns.hpp"

namespace cpfm::app {
namespace {

constexpr const char *kWhat = "What matters, and the shape of the map", *kHow = "Solving";
constexpr auto kMost = std::numeric_limits<std::int64_t>::max();

// One number per point; whether they are masses is for the library to say.
std::vector<double> read_weights(const char* option, const std::string& file, std::size_t count) {
  if (file.empty()) return {};
  if (!names_a_file(file)) throw Error(option, fmt::format("there is no file {}", file), "a file of numbers is needed");
  const Property column = to_property(read_column_file(file, count, false, Header::kAuto), file);
  return {column.values.begin(), column.values.end()};
}

}  // namespace

void CoupleArguments::add_to(CLI::App& command) {
  const char* what = kWhat;
  command
      .add_option("--kernel", options.kernel,
                  "Likeness of samples: heat, label, property(NAME), tanimoto, linear, cosine, -euclidean2, knn(K), "
                  "gram(FILE), and sums and products (default: heat*label, or heat without labels)")
      ->option_text("EXPR")
      ->group(what);
  command
      .add_option("--latent", options.latent,
                  "Law of the map: gaussian, square, circle, disk, ring(a,b), sphere, torus, grid, mixture(...), "
                  "points(FILE), image(FILE)")
      ->option_text("LAW=gaussian")
      ->capture_default_str()
      ->group(what);
  command.add_option("--dim", options.latent_options.dim, "Dimensions of the map (default: the law's, else 2)")
      ->transform(whole_number(1, 8))
      ->type_name("D")
      ->group(what);
  command.add_option("--latent-points", options.latent_points, "Number of latent points (default: as many as samples)")
      ->transform(whole_number(2, 4000000000))
      ->type_name("M")
      ->group(what);
  command
      .add_flag("--low-discrepancy", options.latent_options.low_discrepancy,
                "Spread the latent points evenly instead of drawing them independently")
      ->group(what);
  command.add_option("--subsample", options.subsample, "Couple a random subset of N samples; the others are placed")
      ->transform(whole_number(2, kMost))
      ->type_name("N")
      ->group(what);
  command.add_option("--weights", weights_, "File with the mass of each sample, summing to 1 (default: equal)")
      ->option_text("FILE")
      ->group(what);
  command.add_option("--latent-weights", latent_weights_, "The same for the latent points")
      ->option_text("FILE")
      ->group(what);

  const char* how = kHow;
  GwotOptions& solver = options.solver;
  command
      .add_option("--epsilon", solver.epsilon,
                  "Final regularisation, as a share of the objective of a random coupling; smaller is sharper")
      ->check(positive_number())
      ->capture_default_str()
      ->group(how);
  command
      .add_option("--epsilon-start", solver.epsilon_start, "Where it starts, to be halved (default: 0.08 of the scale)")
      ->check(positive_number())
      ->group(how);
  command.add_flag("--absolute-epsilon", solver.absolute, "Take both in units of the cost itself")->group(how);
  command.add_option("--algorithm", algorithm_, "cpfm, or paper: one start at A = 0 and the printed stopping rule")
      ->check(one_of({"cpfm", "paper"}))
      ->option_text("cpfm|paper=cpfm")
      ->capture_default_str()
      ->group(how);
  command.add_option("--starts", solver.starts, "Random starts; the best is refined")
      ->transform(whole_number(0, 10000))
      ->type_name("N")
      ->capture_default_str()
      ->group(how);
  command.add_option("--start-points", solver.start_points, "Samples used for the starts")
      ->transform(whole_number(2, kMost))
      ->type_name("N")
      ->capture_default_str()
      ->group(how);
  command
      .add_option("--start-levels", solver.start_levels,
                  "Levels of ε, each half the last, after which starts are compared")
      ->transform(whole_number(1, 30))
      ->type_name("N")
      ->capture_default_str()
      ->group(how);
  command
      .add_option("--coarse-points", solver.coarse_points,
                  "More than twice so many samples are first coupled on a subset of this size; 0: never")
      ->transform(whole_number(0, kMost))
      ->type_name("N")
      ->capture_default_str()
      ->group(how);
  command.add_option("--explained", options.factor.explained, "Share of the kernel its factor explains")
      ->check(number_between(0, 1, true))
      ->capture_default_str()
      ->group(how);
  command.add_option("--rank", options.factor.max_rank, "Largest rank of the factor (default: no limit)")
      ->transform(whole_number(1, kMost))
      ->type_name("R")
      ->group(how);
  command.add_flag("--exact", options.exact, "Use the kernel itself in every update, without a factor")->group(how);
  command
      .add_option("--tolerance", solver.tolerance, "A level ends when the objective changes by less than this share")
      ->check(proper_fraction())
      ->capture_default_str()
      ->group(how);
  command.add_option("--marginal-tolerance", solver.marginal_tolerance, "L1 error of the marginals at the end")
      ->check(positive_number())
      ->capture_default_str()
      ->group(how);
  command.add_option("--max-half-iterations", solver.max_half_iterations, "Stop after so many (default: no limit)")
      ->transform(whole_number(1, kMost))
      ->type_name("N")
      ->group(how);
  command.add_option("--drop", solver.drop, "Mass that pairs left out may hold in all; 0 computes every pair")
      ->check(number_between(0, 0.5))
      ->capture_default_str()
      ->group(how);
  command.add_flag("--double", solver.double_precision, "Sum in double precision from the start")->group(how);
}

bool CoupleArguments::owns(const CLI::Option& option) {
  return option.get_group() == kWhat || option.get_group() == kHow;
}

CoupleOptions CoupleArguments::resolve(const Context& context, std::size_t n) const {
  CoupleOptions resolved = options;
  if (options.solver.coarse_points == 1)
    throw Error("--coarse-points", "a subset of one cannot be coupled", "0 for none, or two or more");
  draw_latent(options.latent, 2, options.latent_options);  // says what is wrong with it
  resolved.seed = context.seed;
  resolved.solver.algorithm = algorithm_ == "paper" ? GwotOptions::Algorithm::kPaper : GwotOptions::Algorithm::kCpfm;
  resolved.weights = read_weights("--weights", weights_, n);
  const std::size_t coupled = options.subsample == 0 ? n : std::min(n, options.subsample);
  resolved.latent_weights =
      read_weights("--latent-weights", latent_weights_, options.latent_points == 0 ? coupled : options.latent_points);
  return resolved;
}

}  // namespace cpfm::app
