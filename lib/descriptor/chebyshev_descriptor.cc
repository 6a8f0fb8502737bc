#include "lib/descriptor/chebyshev_descriptor.h"

#include "lib/base/logging.h"
#include "lib/descriptor/kernels/chebyshev_kernel.h"

namespace rutile {
namespace {

struct ChebyshevWorkspace : Descriptor::Workspace {
  ChebyshevWorkspace(const ChebyshevTables<double>& tables64, const ChebyshevTables<float>& tables32)
      : scratch64(tables64), scratch32(tables32) {}
  ChebyshevScratch<double> scratch64;
  ChebyshevScratch<float> scratch32;
};

ChebyshevWorkspace* Own(Descriptor::Workspace* workspace) {
  auto* const own = dynamic_cast<ChebyshevWorkspace*>(workspace);
  CHECK(own != nullptr) << "the workspace is not one of ChebyshevDescriptor::MakeWorkspace";
  return own;
}

}  // namespace

ChebyshevDescriptor::ChebyshevDescriptor(const ChebyshevOptions& options, AngularMethod method)
    : options_(options), tables64_(options, method), tables32_(options, method) {}

std::unique_ptr<Descriptor::Workspace> ChebyshevDescriptor::MakeWorkspace() const {
  return std::make_unique<ChebyshevWorkspace>(tables64_, tables32_);
}

void ChebyshevDescriptor::Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors,
                                  Workspace* workspace, absl::Span<double> features) const {
  ComputeChebyshev(tables64_, species, neighbors, &Own(workspace)->scratch64, features);
}

void ChebyshevDescriptor::Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors,
                                  Workspace* workspace, absl::Span<float> features) const {
  ComputeChebyshev(tables32_, species, neighbors, &Own(workspace)->scratch32, features);
}

}  // namespace rutile
