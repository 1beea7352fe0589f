// From a latent expression to points. The expression becomes a tree of mixtures over laws, each moved and scaled as
// at() and scale() around it say; the tree agrees on a dimension; then every row of the result is dealt to one law,
// which fills it. A law draws row i from (seed, its stream, i), so two laws of one expression never use the same random
// numbers.
#include "cpfm/latent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "base/checked.hpp"
#include "base/expression.hpp"
#include "base/text.hpp"
#include "coupling/latent_laws.hpp"
#include "coupling/low_discrepancy.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"

namespace cpfm {
namespace {

constexpr const char* kOption = "--latent";
constexpr std::size_t kMostPoints = std::size_t{1} << SobolSequence::kBits;  // also keeps n^1.5 within 64 bits
constexpr std::size_t kGrain = 2048;

// scale · X + shift, where X is the law or, where there is none, the mixture of `parts`.
struct Part {
  const Expression* at = nullptr;
  std::unique_ptr<LatentLaw> law;
  std::uint64_t index = 0;  // of the law in the expression
  std::vector<Part> parts;
  std::vector<double> weights;  // of the parts; they sum to 1
  double scale = 1;
  std::vector<double> shift;            // empty: none
  const Expression* shifted = nullptr;  // the at() that fixed the dimension
};

// ---- the tree ----

class Builder {
 public:
  explicit Builder(const ParsedExpression& source) : source_(source) {}

  Part build(const Expression& at) {
    using Kind = Expression::Kind;
    if (at.kind == Kind::kSum) fail(at, "a sum is not a law", "mixture(A, B) takes points of both");
    if (at.kind == Kind::kProduct) {
      fail(at, "a law has a weight only inside mixture(…)", "scale(LAW, 2) makes a law twice as wide");
    }
    if (at.kind != Kind::kCall) fail(at, fmt::format("{} is not a latent law", shown(at)), suggest("", names()));
    for (const Expression::Argument& argument : at.arguments) {
      if (!argument.key.empty()) {
        fail(argument.value, fmt::format("{} has no argument '{}'", at.name, printable(argument.key)),
             "arguments go by position; a file name that holds = , ( or ) goes in quotes");
      }
    }
    for (const Law& law : laws()) {
      if (law.name == at.name) {
        Part part = law.build(*this, at);
        if (part.at == nullptr) part.at = &at;  // at() and scale() return what they move and widen
        return part;
      }
    }
    fail(at, fmt::format("unknown latent law '{}'", printable(at.name)), suggest(at.name, names()));
  }

 private:
  struct Law {
    std::string name;
    Part (*build)(Builder&, const Expression&);
  };

  static const std::vector<Law>& laws() {
    static const std::vector<Law> all{
        {"gaussian", [](Builder& b, const Expression& at) { return b.plain(at, gaussian_law); }},
        {"square", [](Builder& b, const Expression& at) { return b.plain(at, square_law); }},
        {"circle", [](Builder& b, const Expression& at) { return b.plain(at, circle_law); }},
        {"disk", [](Builder& b, const Expression& at) { return b.plain(at, disk_law); }},
        {"ring", [](Builder& b, const Expression& at) { return b.ring(at); }},
        {"sphere", [](Builder& b, const Expression& at) { return b.plain(at, sphere_law); }},
        {"torus", [](Builder& b, const Expression& at) { return b.torus(at); }},
        {"grid", [](Builder& b, const Expression& at) { return b.plain(at, grid_law); }},
        {"points", [](Builder& b, const Expression& at) { return b.leaf(points_law(b.file(at))); }},
        {"image", [](Builder& b, const Expression& at) { return b.leaf(image_law(b.file(at))); }},
        {"mixture", [](Builder& b, const Expression& at) { return b.mixture(at); }},
        {"at", [](Builder& b, const Expression& at) { return b.moved(at); }},
        {"scale", [](Builder& b, const Expression& at) { return b.scaled(at); }},
    };
    return all;
  }

  static std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const Law& law : laws()) names.push_back(law.name);
    return names;
  }

  [[noreturn]] void fail(const Expression& at, const std::string& problem, const std::string& remedy) const {
    source_.fail(at, problem, remedy);
  }
  std::string shown(const Expression& at) const { return fmt::format("'{}'", printable(at.text(source_.source()))); }

  Part leaf(std::unique_ptr<LatentLaw> law) {
    Part part;
    part.law = std::move(law);
    part.index = laws_used_++;
    return part;
  }

  Part plain(const Expression& at, std::unique_ptr<LatentLaw> (*make)()) {
    if (!at.arguments.empty()) {
      fail(at.arguments[0].value, fmt::format("{} has no arguments", at.name),
           "scale(LAW, 2) makes a law twice as wide");
    }
    return leaf(make());
  }

  Part ring(const Expression& at) {
    if (at.arguments.size() != 2) fail(at, "a ring has two radii", "as in ring(0.6, 1)");
    const double inner = number(at.arguments[0].value), outer = number(at.arguments[1].value);
    if (!(inner >= 0 && inner < outer)) {
      fail(at, fmt::format("there is no ring between the radii {} and {}", inner, outer), "ring(a, b) has 0 ≤ a < b");
    }
    return leaf(ring_law(inner, outer));
  }

  Part torus(const Expression& at) {
    if (at.arguments.empty()) return leaf(torus_law(1, 0.4));
    if (at.arguments.size() != 2) fail(at, "a torus has two radii", "as in torus(1, 0.4)");
    const double ring = number(at.arguments[0].value), tube = number(at.arguments[1].value);
    if (!(tube > 0 && tube < ring)) {
      fail(at, fmt::format("there is no ring torus with the radii {} and {}", ring, tube),
           "torus(R, r) has 0 < r < R; r is that of the tube");
    }
    return leaf(torus_law(ring, tube));
  }

  std::string file(const Expression& at) const {
    if (at.arguments.size() != 1) {
      fail(at, fmt::format("{} takes one file, not {}", at.name, at.arguments.size()),
           fmt::format("as in {}; a file name that holds = , ( or ) goes in quotes",
                       at.name == "image" ? "image(FILE.png)" : "points(FILE.npy)"));
    }
    const Expression& name = at.arguments[0].value;
    // A name without a dot or slash reads as a law, one of digits as a number.
    std::string path = name.kind == Expression::Kind::kText ? name.name : std::string(name.text(source_.source()));
    if (path.empty()) fail(name, "the name of the file is empty", {});
    return path;
  }

  Part mixture(const Expression& at) {
    if (at.arguments.empty()) {
      fail(at, "an empty mixture has no points", "as in mixture(0.3*gaussian, 0.7*at(disk, 3, 0))");
    }
    Part part;
    double largest = 0, sum = 0;
    for (const Expression::Argument& argument : at.arguments) {
      double weight = 1;
      part.parts.push_back(build(weighted(argument.value, weight)));
      if (!(weight > 0 && std::isfinite(weight))) {
        fail(argument.value, fmt::format("{} is not a weight", weight), "weights are positive");
      }
      part.weights.push_back(weight);
      largest = std::max(largest, weight);
    }
    for (double& weight : part.weights) sum += weight /= largest;
    for (double& weight : part.weights) weight /= sum;
    return part;
  }

  // The law of w*LAW, and its weight.
  const Expression& weighted(const Expression& at, double& weight) const {
    if (at.kind != Expression::Kind::kProduct) return at;
    const Expression* law = nullptr;
    for (const Expression::Argument& factor : at.arguments) {
      if (is_number(factor.value)) {
        weight *= number(factor.value);
      } else if (law == nullptr) {
        law = &factor.value;
      } else {
        fail(at, "a product of laws is not a law", "mixture(A, B) takes points of both");
      }
    }
    if (law == nullptr) fail(at, fmt::format("{} is a number, not a law", shown(at)), "as in 0.3*gaussian");
    return weighted(*law, weight);
  }

  Part moved(const Expression& at) {
    if (at.arguments.size() < 2 || at.arguments.size() > 1 + kMostLatentDim) {
      fail(at, fmt::format("at() needs a law and 1 to {} coordinates", kMostLatentDim), "as in at(gaussian, -2, 0)");
    }
    Part part = build(at.arguments[0].value);
    std::vector<double> to;
    for (std::size_t k = 1; k < at.arguments.size(); ++k) to.push_back(number(at.arguments[k].value));
    if (part.shifted != nullptr && part.shift.size() != to.size()) {
      fail(at, fmt::format("{} coordinates around {}", to.size(), part.shift.size()), "one for every dimension");
    }
    part.shift.resize(to.size());
    for (std::size_t k = 0; k < to.size(); ++k) part.shift[k] += to[k];
    part.shifted = &at;
    return part;
  }

  Part scaled(const Expression& at) {
    if (at.arguments.size() != 2) fail(at, "scale() needs a law and a factor", "as in scale(disk, 0.5)");
    Part part = build(at.arguments[0].value);
    const double factor = number(at.arguments[1].value);
    if (!(factor > 0)) {
      fail(at.arguments[1].value, fmt::format("{} does not scale a law", factor), "the factor is positive");
    }
    part.scale *= factor;
    for (double& value : part.shift) value *= factor;
    return part;
  }

  static bool is_number(const Expression& at) {
    if (at.kind == Expression::Kind::kNumber) return true;
    if (at.kind != Expression::Kind::kSum && at.kind != Expression::Kind::kProduct) return false;
    for (const Expression::Argument& term : at.arguments) {
      if (!is_number(term.value)) return false;
    }
    return true;
  }

  // -2 may come as -1 · 2.
  double number(const Expression& at) const {
    if (!is_number(at)) fail(at, fmt::format("{} is not a number", shown(at)), {});
    const double value = constant(at);
    if (!std::isfinite(value)) fail(at, fmt::format("{} is not a finite number", shown(at)), {});
    return value;
  }
  static double constant(const Expression& at) {
    if (at.kind == Expression::Kind::kNumber) return at.number;
    const bool sum = at.kind == Expression::Kind::kSum;
    double value = sum ? 0 : 1;
    for (const Expression::Argument& term : at.arguments) {
      value = sum ? value + constant(term.value) : value * constant(term.value);
    }
    return value;
  }

  const ParsedExpression& source_;
  std::uint64_t laws_used_ = 0;
};

// ---- the dimension ----

struct Dimension {
  int fixed = 0;                   // by the first part that has one only; 0: none
  const Expression* by = nullptr;  // that part
  int own = 0;                     // else: the largest that a law has of its own
};

void find_dimension(const Part& part, Dimension& found) {
  const auto fix = [&](int dim, const Expression* by) {
    if (found.fixed == 0) found = {dim, by, found.own};
  };
  if (part.shifted != nullptr) fix(static_cast<int>(part.shift.size()), part.shifted);
  if (part.law) {
    const LatentLaw::Dims dims = part.law->dims();
    if (dims.least == dims.most) fix(dims.own, part.at);
    found.own = std::max(found.own, dims.own);
  }
  for (const Part& inner : part.parts) find_dimension(inner, found);
}

// `why` says where the dimension comes from.
void check_dimension(const ParsedExpression& source, const Part& part, int dim, const std::string& why) {
  if (part.shifted != nullptr && part.shift.size() != static_cast<std::size_t>(dim)) {
    source.fail(*part.shifted, fmt::format("{} coordinates, but {} {}", part.shift.size(), why, dim),
                "one for every dimension");
  }
  if (part.law) {
    const auto [least, most, own] = part.law->dims();
    if (dim < least || dim > most) {
      const std::string allowed = least == most ? fmt::to_string(least) : fmt::format("{} to {}", least, most);
      source.fail(*part.at, fmt::format("{} has {} dimensions, but {} {}", part.at->name, allowed, why, dim));
    }
  }
  for (const Part& inner : part.parts) check_dimension(source, inner, dim, why);
}

int agree_on_dimension(const ParsedExpression& source, const Part& root, int asked) {
  Dimension found;
  find_dimension(root, found);
  std::string why = "the law asks for";
  if (asked != 0) {
    why = "--dim is";
  } else if (found.by != nullptr) {
    why = fmt::format("'{}' has", printable(found.by->text(source.source())));
  }
  const int dim = asked != 0 ? asked : found.fixed != 0 ? found.fixed : found.own;
  check_dimension(source, root, dim, why);
  return dim;
}

// ---- the points ----

// Rows of the result that belong to a part; null: all of them.
struct Rows {
  std::size_t count = 0;
  const std::size_t* index = nullptr;
  std::size_t operator[](std::size_t j) const { return index == nullptr ? j : index[j]; }
};

// Deals the rows so that after every row each part is less than one point from its exact share (Tijdeman, "The chairman
// assignment problem", 1980): among the parts that are due, the one whose deadline comes first. Unlike a
// largest-remainder count this does not reassign rows when there are more of them.
std::vector<std::vector<std::size_t>> deal(const Rows& rows, const std::vector<double>& weights) {
  const std::size_t parts = weights.size();
  std::vector<std::vector<std::size_t>> dealt(parts);
  const double slack = parts == 1 ? 0 : 1.0 / static_cast<double>(2 * parts - 2);
  for (std::size_t j = 0; j < rows.count; ++j) {
    if (j % kGrain == 0) check_interrupt();
    std::size_t next = 0;
    double earliest = INFINITY;
    for (std::size_t k = 0; k < parts; ++k) {
      const double owed = weights[k] * static_cast<double>(j + 1) - static_cast<double>(dealt[k].size());
      const double deadline = (1 - slack - owed) / weights[k];
      if (owed >= slack && deadline < earliest) {
        earliest = deadline;
        next = k;
      }
    }
    dealt[next].push_back(rows[j]);
  }
  return dealt;
}

class Drawing {
 public:
  Drawing(const ParsedExpression& source, const LatentOptions& options, FloatMatrix& out)
      : source_(source), options_(options), out_(out) {}

  // Fills `rows` with scale · part + shift.
  void draw(Part& part, const Rows& rows, double scale, std::vector<double> shift) {
    for (std::size_t k = 0; k < part.shift.size(); ++k) shift[k] += scale * part.shift[k];
    scale *= part.scale;
    if (part.law) {
      draw_law(part, rows, scale, shift);
      return;
    }
    const auto dealt = deal(rows, part.weights);
    for (std::size_t k = 0; k < part.parts.size(); ++k) {
      draw(part.parts[k], {dealt[k].size(), dealt[k].data()}, scale, shift);
    }
  }

 private:
  void draw_law(Part& part, const Rows& rows, double scale, const std::vector<double>& shift) {
    LatentLaw& law = *part.law;
    const std::size_t dim = out_.cols(), uniforms = law.uniforms(dim);
    static_assert(LatentLaw::kMostUniforms <= SobolSequence::kMostDimensions);
    CPFM_ASSERT(uniforms <= LatentLaw::kMostUniforms, "there is room for the uniform numbers");
    std::optional<SobolSequence> even;
    if (options_.low_discrepancy) {
      if (!law.can_spread()) {
        source_.fail(*part.at, fmt::format("{} cannot be spread by low discrepancy", part.at->name),
                     "its points are what they are; draw them without");
      }
      even.emplace(uniforms, options_.seed, part.index);
    }
    law.prepare(rows.count, options_.seed, part.index);
    parallel_for(rows.count, kGrain, [&](std::size_t begin, std::size_t end) {
      check_interrupt();
      std::array<double, LatentLaw::kMostUniforms> room;
      std::array<double, kMostLatentDim> place;
      const std::span<double> u(room.data(), uniforms), y(place.data(), dim);
      for (std::size_t j = begin; j < end; ++j) {
        if (even) {
          even->point(j, u);
        } else {
          Rng rng(options_.seed, law.stream(), rows[j]);
          for (double& value : u) value = open_unit(rng.bits64());
        }
        law.point(j, rows.count, u, y);
        const std::span<float> row = out_.row(rows[j]);
        for (std::size_t k = 0; k < dim; ++k) {
          const double value = scale * y[k] + shift[k];
          if (!(std::abs(value) <= std::numeric_limits<float>::max())) {
            source_.fail(*part.at, fmt::format("a coordinate of {} does not fit a 32-bit float", value),
                         "use smaller numbers");
          }
          row[k] = static_cast<float>(value);
        }
      }
    });
  }

  const ParsedExpression& source_;
  const LatentOptions& options_;
  FloatMatrix& out_;
};

}  // namespace

FloatMatrix draw_latent(const std::string& law, std::size_t count, const LatentOptions& options) {
  if (count == 0 || count > kMostPoints) {
    throw Error(kOption, fmt::format("{} points were asked for", count),
                fmt::format("1 to {} can be drawn", kMostPoints));
  }
  if (options.dim < 0 || options.dim > kMostLatentDim) {
    throw Error("--dim", fmt::format("{} is not a latent dimension", options.dim),
                fmt::format("1 to {}", kMostLatentDim));
  }
  const ParsedExpression source(law, kOption);
  Part root = Builder(source).build(source.root());
  const auto dim = static_cast<std::size_t>(agree_on_dimension(source, root, options.dim));
  checked_mul(checked_mul(count, dim, kOption), sizeof(float), kOption);
  try {
    FloatMatrix points(count, dim);
    Drawing(source, options, points).draw(root, {count, nullptr}, 1, std::vector<double>(dim));
    return points;
  } catch (const std::bad_alloc&) {
    throw Error(kOption, fmt::format("{} points of {} dimensions do not fit in memory", count, dim));
  }
}

}  // namespace cpfm
