#include "lib/potential/model/zbl_pair.h"

#include <cmath>

#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr double kCoulomb = 14.399645;  // e^2 / (4 pi epsilon_0), eV Angstrom
constexpr double kLength = 0.46850;     // Angstrom
constexpr double kPower = 0.23;
constexpr double kShare[4] = {0.02817, 0.28022, 0.50986, 0.18175};
constexpr double kDecay[4] = {0.20162, 0.40290, 0.94229, 3.19980};

}  // namespace

ZblPair::ZblPair(int zi, int zj, double inner, double outer)
    : inner_(inner), outer_(outer), charge_(kCoulomb * zi * zj) {
  CHECK(0 < inner && inner < outer) << inner << " " << outer;
  const double length = kLength / (std::pow(zi, kPower) + std::pow(zj, kPower));
  for (int k = 0; k < 4; ++k) decay_[k] = kDecay[k] / length;
  const double width = outer - inner;
  const Screened end = ScreenedAt(outer);
  a_ = (-3 * end.v1 + width * end.v2) / (width * width);
  b_ = (2 * end.v1 - width * end.v2) / (width * width * width);
  c_ = -end.v + width / 2 * end.v1 - width * width / 12 * end.v2;
}

ZblPair::Screened ZblPair::ScreenedAt(double r) const {
  double phi = 0, phi1 = 0, phi2 = 0;
  for (int k = 0; k < 4; ++k) {
    const double term = kShare[k] * std::exp(-decay_[k] * r);
    phi += term;
    phi1 -= decay_[k] * term;
    phi2 += decay_[k] * decay_[k] * term;
  }
  return {charge_ * phi / r, charge_ * (phi1 - phi / r) / r, charge_ * (phi2 - 2 * (phi1 - phi / r) / r) / r};
}

ZblPair::Value ZblPair::At(double r) const {
  if (r >= outer_) return {};
  const Screened here = ScreenedAt(r);
  Value value = {here.v + c_, here.v1};
  if (r < inner_) return value;
  const double t = r - inner_;
  value.energy += t * t * t * (a_ / 3 + b_ / 4 * t);
  value.slope += t * t * (a_ + b_ * t);
  return value;
}

}  // namespace rutile
