// A step of force training on a GPU: energies, forces and stresses of a batch, and the gradients of their losses.
//
// The structures are loaded once. Their neighbors, features and moments stay on the device, as positions do not change
// during training; a step sends parameters and the list of the batch's structures, and gets back gradients and sums of
// errors. The passes are those of force_kernel.h. Every sum is taken in an order that does not depend on the device's
// threads, so that a repeated run gives the same bits on the same device.
//
// nvcc compiles this file and what it includes, so that they use the standard library alone.

#ifndef RUTILE_LIB_POTENTIAL_GPU_FORCE_STEP_H_
#define RUTILE_LIB_POTENTIAL_GPU_FORCE_STEP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/potential/gpu/descriptor_tables.h"
#include "lib/potential/gpu/network_layout.h"
#include "lib/potential/gpu/pair_slots_builder.h"

namespace rutile {

// The losses of errors, as ErrorLoss of loss_function.h has them.
struct StepLoss {
  bool huber = false;
  double energy_delta = 0, force_delta = 0, stress_delta = 0;
  bool forces = false, stress = false;  // which terms there are beside the energy
  int num_terms() const { return 1 + forces + stress; }
};

// What does not change during a run.
struct StepModel {
  HostDescriptorTables descriptor;
  PlainNetworkShape network;
  std::vector<double> mean, scale;            // [species, F]: x = (G - mean) scale
  double energy_scale = 1, energy_shift = 0;  // the network's sum over N atoms is (E / N - shift) N scale
  StepLoss loss;
};

// A structure to load: its pairs to at least the descriptor's cutoff, its labels, and what they count.
struct StepStructure {
  StructurePairs pairs;
  bool has_energy = true;          // false: the energy is unknown and counts nothing
  double target = 0;               // energy per atom less atomic energies, eV
  double weight = 1;               // of energy, forces and stress
  const double* force = nullptr;   // [3N] eV/Angstrom, or null: it has none
  const double* stress = nullptr;  // [9] eV/Angstrom^3, or null: it has none
  double volume = 0;               // Angstrom^3; > 0 where there is a stress
};

// A batch of B structures with A atoms: places in what was loaded, and which forces count this time.
struct StepBatch {
  int64_t num_structures = 0;
  const int64_t* structure = nullptr;      // [B] place in the loaded set; a structure may come more than once
  const uint8_t* learns_forces = nullptr;  // [B] structures some of whose forces count; they have forces
  const uint8_t* sampled = nullptr;        // [A] atoms whose forces count, in structures that learn some; null: all
};

// What a step says of each structure. Losses are sums over components, not multiplied with the structure's weight.
struct StepResult {
  double energy_error;  // eV/atom
  double force_loss, force_square, force_absolute;
  double stress_loss, stress_square, stress_absolute;
};

// T, float or double, is the type of parameters and arithmetic. One thread at a time may use an object.
template <typename T>
class ForceStep {
 public:
  virtual ~ForceStep() = default;

  // Copies structures to the device and computes their features, once. Returns "" or what went wrong.
  virtual std::string Load(const std::vector<StepStructure>& structures) = 0;

  // Freezes networks: their gradients are 0. [species], or empty to freeze none.
  virtual void SetFrozen(const std::vector<bool>& species) = 0;

  // Computes the results of a batch and, unless `gradients` is null, the gradients of its weighted losses by the
  // parameters, [terms, num_parameters], overwritten: energy, then force and stress if there are such terms. results:
  // [B], overwritten. Returns "" or what went wrong; all later calls then return the same.
  virtual std::string Run(const T* parameters, const StepBatch& batch, T* gradients, StepResult* results) = 0;

  // Returns how many bytes the loaded structures take on the device.
  virtual int64_t bytes() const = 0;
};

// True if this program has kernels for GPUs, that is, if nvcc was there when it was built.
bool HasCudaForceStep();
// Returns how many GPUs the machine has, 0 if this program has no kernels for them.
int NumCudaGpus();
// Returns why kernels cannot run on the GPU of this number in CUDA: there is none, or this program was built without
// kernels for GPUs. "" if they can.
std::string WhyNotOnGpu(int device);

// Returns a step on a GPU. Returns null and sets *error to the reason (WhyNotOnGpu) if it cannot run there.
template <typename T>
std::unique_ptr<ForceStep<T>> MakeCudaForceStep(const StepModel& model, int device, std::string* error);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_FORCE_STEP_H_
