#include "lib/potential/prediction/message_steps.h"

#include <algorithm>

#include "lib/base/logging.h"
#include "lib/base/status_macros.h"

namespace rutile {

template <typename T>
MessageSteps<T>::MessageSteps(absl::Span<const Potential> models, std::deque<AtomNetworks<T>>* networks)
    : networks_(*networks) {
  for (const Potential& model : models) {
    Member& member = members_.emplace_back();
    member.column = width_;
    member.count = model.shape.moments.message_width();
    width_ += member.count;
    if (member.count > 0) member.senders = std::make_unique<AtomNetworks<T>>(model);
  }
}

template <typename T>
absl::Span<double> MessageSteps<T>::Part(const Member& member, int64_t begin, int64_t rows,
                                         const std::vector<double>& all) {
  part_.resize(rows * member.count);
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n(&all[(begin + i) * width_ + member.column], member.count, &part_[i * member.count]);
  }
  return absl::MakeSpan(part_);
}

template <typename T>
void MessageSteps<T>::PutPart(const Member& member, int64_t begin, int64_t rows, std::vector<double>* all) const {
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n(&part_[i * member.count], member.count, &(*all)[(begin + i) * width_ + member.column]);
  }
}

template <typename T>
absl::Status MessageSteps<T>::Run(const typename DescriptorDerivatives<T>::State* state, absl::Span<const T> features,
                                  absl::Span<const uint8_t> species, int64_t num_centers, bool forces,
                                  MessageExchange* exchange) {
  const int64_t num_atoms = static_cast<int64_t>(species.size());
  const int64_t num_features = networks_.front().num_features();
  num_centers_ = num_centers;
  num_rows_ = static_cast<int64_t>(features.size()) / num_features;
  CHECK(exchange == nullptr || num_rows_ == num_centers) << "messages come by an exchange, or from atoms that are here";
  messages_.assign(num_atoms * width_, 0.0);
  message_slopes_.assign(messages_.size(), 0.0);
  const int64_t others = num_rows_ - num_centers;
  for (size_t m = 0; m < members_.size(); ++m) {
    Member& member = members_[m];
    if (member.count == 0) continue;
    networks_[m].SetNeighbors(state);
    part_.resize(num_centers * member.count);
    networks_[m].SendMessages(features.first(num_centers * num_features), species.first(num_centers),
                              /*only_send=*/false, absl::MakeSpan(part_));
    PutPart(member, 0, num_centers, &messages_);
    part_.resize(others * member.count);
    member.senders->SendMessages(features.subspan(num_centers * num_features), species.subspan(num_centers, others),
                                 /*only_send=*/true, absl::MakeSpan(part_));
    PutPart(member, num_centers, others, &messages_);
  }
  if (exchange != nullptr) RETURN_IF_ERROR(exchange->SendOut(width_, absl::MakeSpan(messages_)));
  for (size_t m = 0; m < members_.size(); ++m) {
    Member& member = members_[m];
    if (member.count == 0) continue;
    member.atom_energies.resize(num_centers);
    member.energy =
        networks_[m].EnergiesOfMessages(Part(member, 0, num_atoms, messages_), absl::MakeSpan(member.atom_energies));
    if (!forces) continue;
    networks_[m].MessageSlopes(/*forces=*/true, absl::MakeSpan(part_));
    PutPart(member, 0, num_atoms, &message_slopes_);
  }
  if (exchange == nullptr || !forces) return absl::OkStatus();
  return exchange->SendHome(width_, absl::MakeSpan(message_slopes_));
}

template <typename T>
void MessageSteps<T>::Slopes(int m, absl::Span<T> slopes) {
  Member& member = members_[m];
  const int64_t num_features = networks_[m].num_features(), others = num_rows_ - num_centers_;
  networks_[m].SlopesOfMessages(Part(member, 0, num_centers_, message_slopes_),
                                slopes.first(num_centers_ * num_features));
  if (others == 0) return;
  member.senders->SlopesOfMessages(Part(member, num_centers_, others, message_slopes_),
                                   slopes.subspan(num_centers_ * num_features));
}

template class MessageSteps<float>;
template class MessageSteps<double>;

}  // namespace rutile
