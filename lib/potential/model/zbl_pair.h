// The screened repulsion of two nuclei, switched off smoothly.
//
//   V(r) = k Z_i Z_j phi(r / a) / r,   a = 0.46850 Angstrom / (Z_i^0.23 + Z_j^0.23)
//   E(r) = V(r) + C                                      for r < inner
//   E(r) = V(r) + C + A t^3 / 3 + B t^4 / 4              for inner <= r < outer, t = r - inner
//   E(r) = 0                                             from outer on
//
// phi is a sum of four exponentials, and A, B and C make the energy, the force and its slope vanish at `outer`. All
// constants are those of LAMMPS, so that E is the function of its "pair_style zbl INNER OUTER" in metal units.
// Source: J. F. Ziegler, J. P. Biersack, U. Littmark, "The Stopping and Range of Ions in Matter", Pergamon, 1985.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_ZBL_PAIR_H_
#define RUTILE_LIB_POTENTIAL_MODEL_ZBL_PAIR_H_

namespace rutile {

class ZblPair {
 public:
  struct Value {
    double energy = 0;  // eV
    double slope = 0;   // dE/dr, eV/Angstrom
  };

  // zi, zj: atomic numbers. Radii in Angstrom; CHECK-fails unless 0 < inner < outer.
  ZblPair(int zi, int zj, double inner, double outer);

  double outer() const { return outer_; }
  // r: a distance above 0, in Angstrom.
  Value At(double r) const;

 private:
  // V and its first two derivatives.
  struct Screened {
    double v, v1, v2;
  };
  Screened ScreenedAt(double r) const;

  double inner_, outer_;
  double charge_;             // k Z_i Z_j, eV Angstrom
  double decay_[4];           // exponents of phi over a, 1/Angstrom
  double a_ = 0, b_ = 0, c_;  // A, B, C
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_ZBL_PAIR_H_
