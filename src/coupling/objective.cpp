#include "coupling/objective.hpp"

#include <numeric>
#include <vector>

namespace cpfm {

double objective(std::span<const double> w, std::span<const double> km, const GwotSolver& solver) {
  const double quadratic = std::inner_product(km.begin(), km.end(), solver.mean().data, 0.0);
  return 2 * (std::inner_product(w.begin(), w.end(), solver.second().begin(), 0.0) - quadratic);
}

double objective_random(std::span<const double> w, std::span<const double> row_mass, MatrixView<const float> y,
                        std::span<const double> column_mass) {
  std::vector<double> centre(y.cols, 0.0);
  for (std::size_t j = 0; j < y.rows; ++j) {
    for (std::size_t k = 0; k < y.cols; ++k) centre[k] += column_mass[j] * double(y(j, k));
  }
  double spread = 0;
  for (std::size_t j = 0; j < y.rows; ++j) {
    for (std::size_t k = 0; k < y.cols; ++k) {
      const double v = y(j, k) - centre[k];
      spread += column_mass[j] * v * v;
    }
  }
  return 2 * std::inner_product(w.begin(), w.end(), row_mass.begin(), 0.0) * spread;
}

}  // namespace cpfm
