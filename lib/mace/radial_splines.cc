#include "lib/mace/radial_splines.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/base/logging.h"
#include "lib/mace/mace_layer.h"
#include "lib/mace/pair_passes.h"

namespace rutile {
namespace {

// Weights of what two knots have at a place between them: values, slopes and second derivatives of the lower and of the
// upper one, for the value and for the slope there.
struct Weights {
  double value[6], slope[6];
};

Weights WeightsAt(double t, double h) {
  const double t2 = t * t, t3 = t2 * t, t4 = t3 * t, t5 = t4 * t, h2 = h * h;
  const double upper = 10 * t3 - 15 * t4 + 6 * t5, upper_slope = (30 * t2 - 60 * t3 + 30 * t4) / h;
  return {{1 - upper, h * (t - 6 * t3 + 8 * t4 - 3 * t5), 0.5 * h2 * (t2 - 3 * t3 + 3 * t4 - t5), upper,
           h * (-4 * t3 + 7 * t4 - 3 * t5), 0.5 * h2 * (t3 - 2 * t4 + t5)},
          {-upper_slope, 1 - 18 * t2 + 32 * t3 - 15 * t4, 0.5 * h * (2 * t - 9 * t2 + 12 * t3 - 5 * t4), upper_slope,
           -12 * t2 + 28 * t3 - 15 * t4, 0.5 * h * (3 * t2 - 8 * t3 + 5 * t4)}};
}

}  // namespace

RadialSplines::RadialSplines(RadialNetwork* network, int64_t functions, double cutoff, int num_knots)
    : network_(network),
      functions_(functions),
      num_knots_(num_knots),
      step_((cutoff - kFirstKnot) / (num_knots - 1)),
      knots_(AlignedBuffer<double>::Zeros(num_knots * 3 * functions)) {
  CHECK(num_knots >= 2 && cutoff > kFirstKnot) << num_knots << " knots, cutoff " << cutoff;
  // Second derivatives are differences of the MLP's slopes, of fourth order. What they are off by is multiplied by
  // h^2 / 64 in the spline, and is far below its own error.
  constexpr double kApart = 2e-3;  // Angstrom
  constexpr int kPlaces = 5;
  std::vector<double> value(kPlaces * functions), slope(kPlaces * functions);
  for (int k = 0; k < num_knots; ++k) {
    const double r = kFirstKnot + k * step_;
    const double places[kPlaces] = {r, r - 2 * kApart, r - kApart, r + kApart, r + 2 * kApart};
    network->Compute(places, kPlaces, value.data(), slope.data());
    double* const of_knot = &knots_[k * 3 * functions];
    const auto at = [&](int place, int64_t f) { return slope[place * functions + f]; };
    for (int64_t f = 0; f < functions; ++f) {
      of_knot[f] = value[f];
      of_knot[functions + f] = slope[f];
      of_knot[2 * functions + f] = (8 * (at(3, f) - at(2, f)) - (at(4, f) - at(1, f))) / (12 * kApart);
    }
  }
}

void RadialSplines::Compute(const double* distance, int64_t n, double* value, double* slope) const {
  for (int64_t e = 0; e < n; ++e) {
    double* const values = value + e * functions_;
    double* const slopes = slope == nullptr ? nullptr : slope + e * functions_;
    const double place = (distance[e] - kFirstKnot) / step_;
    if (!(place >= 0)) {
      network_->Compute(distance + e, 1, values, slopes);
      continue;
    }
    const auto knot = std::min(static_cast<int64_t>(place), num_knots_ - 2);
    const Weights weights = WeightsAt(place - static_cast<double>(knot), step_);
    SplineRow(functions_, &knots_[knot * 3 * functions_], weights.value, weights.slope, values, slopes);
  }
}

SplineError MeasureSplines(const MaceModel& model, int num_knots) {
  constexpr int kPlaces = 7;
  const int64_t stride = MaceLayerSums::Stride(model), functions = (model.neighborhood.max_l + 1) * stride;
  const double cutoff = model.neighborhood.cutoff;
  const double step = (cutoff - RadialSplines::kFirstKnot) / (num_knots - 1);
  std::vector<double> value(kPlaces * functions), slope(value.size()), exact(value.size()), exact_slope(value.size());
  SplineError error;
  for (const MaceLayer& layer : model.layers) {
    RadialNetwork network(model, layer, stride);
    const RadialSplines splines(&network, functions, cutoff, num_knots);
    double largest = 0, largest_slope = 0, off = 0, slope_off = 0;
    for (int k = 0; k + 1 < num_knots; ++k) {
      double distance[kPlaces];
      for (int p = 0; p < kPlaces; ++p) {
        distance[p] = RadialSplines::kFirstKnot + (k + (p + 1.0) / (kPlaces + 1)) * step;
      }
      splines.Compute(distance, kPlaces, value.data(), slope.data());
      network.Compute(distance, kPlaces, exact.data(), exact_slope.data());
      for (size_t f = 0; f < value.size(); ++f) {
        largest = std::max(largest, std::abs(exact[f]));
        largest_slope = std::max(largest_slope, std::abs(exact_slope[f]));
        off = std::max(off, std::abs(value[f] - exact[f]));
        slope_off = std::max(slope_off, std::abs(slope[f] - exact_slope[f]));
      }
    }
    // A layer whose functions are all 0 has splines that are 0.
    if (largest > 0) error.value = std::max(error.value, off / largest);
    if (largest_slope > 0) error.slope = std::max(error.slope, slope_off / largest_slope);
  }
  return error;
}

}  // namespace rutile
