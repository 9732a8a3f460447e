// Models of what a unit of work costs on n devices, and how sure they are (DEFINITIONS, "Scaling").
// Pure: numbers in, numbers out.
//
// The cost is the device time for a unit of work: n · T at strong scaling, T at weak scaling. It is
// the same for all n if scaling is perfect. Amdahl's law, the universal scalability law and the
// performance model normal form all say by which terms it grows. All are linear in their
// coefficients. The error of a measured time is a share of it, so a residual is the model's cost
// over the measured one, less one. Coefficients of what grows are not negative: work does not get
// cheaper by more devices without end. A least-squares problem of that kind has one minimum, which
// is found exactly by trying which coefficients are zero. Nothing is iterated and no start is
// guessed.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stepscope::analyzer {

/// A way in which costs grow with the number of devices n ≥ 1.
struct CostTerm {
  enum class Shape : unsigned char {
    kConstant,
    kOthers,
    kPairs,
    kPower
  };  ///< 1, n − 1, n (n − 1), n^(i/j) · log₂^l n
  Shape shape = Shape::kConstant;
  int numerator = 0, denominator = 1, logs = 0;  ///< i, j, l of kPower
  [[nodiscard]] double at(double devices) const;
  friend bool operator==(CostTerm const&, CostTerm const&) = default;
};
/// A constant, and up to two terms that grow.
inline constexpr size_t kMostCostTerms = 3;

/// One run: how many devices, and what a unit of work cost them; both > 0 and finite.
struct CostPoint {
  double devices = 1, cost = 0;
};

/// An estimate with the bounds of its 95 % interval; without them nothing tells how sure it is.
struct Estimate {
  double value = 0;
  std::optional<double> low, high;
};

class CostModel {
 public:
  /// `terms`: kConstant first. Needs as many different numbers of devices as terms. None where the
  /// costs allow no positive constant, or where the terms cannot be told apart by these points.
  static std::optional<CostModel> fit(std::vector<CostTerm> const& terms,
                                      std::span<CostPoint const> points);

  [[nodiscard]] double cost(double devices) const;
  /// What another run on so many devices would cost, with its prediction interval: symmetric on a
  /// logarithmic scale.
  [[nodiscard]] Estimate predict(double devices) const;
  /// How many times more work gets done on n devices than on n / 2, with its confidence interval.
  [[nodiscard]] Estimate gain_of_doubling(double devices) const;
  [[nodiscard]] double coefficient(size_t term) const { return coefficients_[term]; }
  /// Ratio of a coefficient to the first one. No bounds if it is fixed at zero.
  [[nodiscard]] Estimate ratio_to_first(size_t term) const;
  /// Standard deviation of the residuals, as a share of the cost; none where there are as many
  /// coefficients as points.
  [[nodiscard]] std::optional<double> residual_share() const;
  /// Σ of the squared residuals.
  [[nodiscard]] double squared_error() const { return squared_error_; }

 private:
  using Vector = std::array<double, kMostCostTerms>;
  [[nodiscard]] Vector terms_at(double devices) const;
  /// gᵀ C g, where the variance of the residuals is known.
  [[nodiscard]] std::optional<double> variance_along(Vector const& gradient) const;
  [[nodiscard]] double t_quantile() const;

  std::vector<CostTerm> terms_;
  Vector coefficients_{};
  std::array<Vector, kMostCostTerms>
      unscaled_covariance_{};  ///< (XᵀX)⁻¹; zero where a coefficient is held at zero
  double squared_error_ = 0;
  size_t degrees_ = 0;  ///< of freedom that are left
};

/// How many different numbers of devices there are.
size_t count_sizes(std::span<CostPoint const> points);

/// Leave-one-out: each number of devices is predicted from the others. The root of the mean square
/// of how far it is off, as a share. None where the others are too few.
std::optional<double> leave_one_out_error(std::vector<CostTerm> const& terms,
                                          std::span<CostPoint const> points);

}  // namespace stepscope::analyzer
