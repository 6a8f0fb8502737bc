// Estimates in closed form how many floating-point operations descriptors need, for profiles. These are not hardware
// counts.

#ifndef RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_COST_H_
#define RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_COST_H_

#include <cstdint>
#include <vector>

#include "lib/descriptor/descriptor_options.h"

namespace rutile {

// The operations for a structure of N atoms with P pairs in lists that reach to list_cutoff. Additions,
// multiplications, divisions and square roots count one each, an FMA two. The share of pairs within each of the
// descriptor's cutoffs is a ratio of volumes, as if the density were uniform: accurate to 20 % in crystals, too large
// at surfaces of molecules.
class DescriptorCost {
 public:
  // bytes: the size of a number, 4 or 8.
  DescriptorCost(const DescriptorOptions& options, AngularMethod method, int bytes, double list_cutoff);

  // Return the operations for one structure of DescriptorDerivatives::Features, and of Vjp and Jvp after it.
  int64_t Features(int64_t atoms, int64_t pairs) const { return Count(&Part::features, atoms, pairs); }
  int64_t Vjp(int64_t atoms, int64_t pairs) const { return Count(&Part::vjp, atoms, pairs); }
  int64_t Jvp(int64_t atoms, int64_t pairs) const { return Count(&Part::jvp, atoms, pairs); }

 private:
  struct Operations {
    double atom = 0, radial = 0, angular = 0, triplet = 0;
  };
  // The cost for options without `nearer`.
  struct Part {
    Part(const ChebyshevOptions& options, AngularMethod method, int bytes, double list_cutoff);
    Part(const MomentOptions& options, double list_cutoff);
    int64_t Count(const Operations& operations, int64_t atoms, int64_t pairs) const;

    double radial_share, angular_share;  // of the pairs in the lists
    Operations features, vjp, jvp;
  };
  int64_t Count(Operations Part::*operations, int64_t atoms, int64_t pairs) const;

  std::vector<Part> parts_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_COST_H_
