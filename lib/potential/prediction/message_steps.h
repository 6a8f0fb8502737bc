// The messages of potentials with two layers where not all atoms are computed here: what centers send, the energies
// that follow from what all atoms have sent, and the way back. ForcePredictor has one.

#ifndef RUTILE_LIB_POTENTIAL_PREDICTION_MESSAGE_STEPS_H_
#define RUTILE_LIB_POTENTIAL_PREDICTION_MESSAGE_STEPS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/potential/model/atom_networks.h"
#include "lib/potential/model/potential_file.h"

namespace rutile {

// How a program that divides atoms over processes brings messages to where they are needed. Atoms are those of the call
// of ForcePredictor, centers first. values: [atoms, width], in which a row has what the members of a committee send.
class MessageExchange {
 public:
  virtual ~MessageExchange() = default;
  // Gives all atoms that are no centers the rows which their owners have.
  virtual absl::Status SendOut(int width, absl::Span<double> values) = 0;
  // Adds the rows of atoms that are no centers to those of their owners. What is left in their own rows is not read.
  virtual absl::Status SendHome(int width, absl::Span<double> values) = 0;
};

// Of the N atoms of a structure the first C, the centers, have energies. Where no exchange brings messages, those that
// follow them up to the first R have features as well, and send: all neighbors of centers are among these R. T is float
// or double. One thread at a time may use an object; memory grows to that of the largest structure.
template <typename T>
class MessageSteps {
 public:
  // networks: those of the models, not owned.
  MessageSteps(absl::Span<const Potential> models, std::deque<AtomNetworks<T>>* networks);

  int width() const { return width_; }  // numbers that an atom sends, of all members; 0 if all have one layer

  // Computes energies of centers. features: [R, F]; species: [N]; state: of the R atoms. exchange: null, or R must be
  // C. Returns the errors of exchange.
  absl::Status Run(const typename DescriptorDerivatives<T>::State* state, absl::Span<const T> features,
                   absl::Span<const uint8_t> species, int64_t num_centers, bool forces, MessageExchange* exchange);

  // The rest is of the last Run, and of a member m with messages. The energy in eV, and that of each center.
  double energy(int m) const { return members_[m].energy; }
  const std::vector<double>& atom_energies(int m) const { return members_[m].atom_energies; }
  // Computes dE/dG in eV, [R, F], overwritten, after a run with forces.
  void Slopes(int m, absl::Span<T> slopes);

 private:
  struct Member {
    int column = 0, count = 0;                 // its columns of messages_; count 0: one layer
    std::unique_ptr<AtomNetworks<T>> senders;  // of atoms that send and have no energies
    double energy = 0;
    std::vector<double> atom_energies;  // [C] eV
  };

  // Copies a member's columns of rows [begin, begin + rows) to part_, or back to `all`.
  absl::Span<double> Part(const Member& member, int64_t begin, int64_t rows, const std::vector<double>& all);
  void PutPart(const Member& member, int64_t begin, int64_t rows, std::vector<double>* all) const;

  std::deque<AtomNetworks<T>>& networks_;
  std::vector<Member> members_;
  int width_ = 0;
  int64_t num_centers_ = 0, num_rows_ = 0;         // C, R
  std::vector<double> messages_, message_slopes_;  // [N, width]
  std::vector<double> part_;                       // [N, messages of a member]
};

extern template class MessageSteps<float>;
extern template class MessageSteps<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_PREDICTION_MESSAGE_STEPS_H_
