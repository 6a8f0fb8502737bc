#include "lib/train/step/model_shards.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/distributed/communicator.h"
#include "lib/distributed/tensor_values.h"
#include "lib/optimizer/gradient_norm.h"
#include "lib/task/model_sharding.h"

namespace rutile {
namespace {

bool Before(const GradientRange& a, const GradientRange& b) { return a.begin < b.begin; }

// Returns the ranges of [0, size) that no process owns.
std::vector<GradientRange> Unowned(const std::vector<std::vector<GradientRange>>& owned, int64_t size) {
  std::vector<GradientRange> all;
  for (const std::vector<GradientRange>& ranges : owned) all.insert(all.end(), ranges.begin(), ranges.end());
  std::sort(all.begin(), all.end(), Before);
  std::vector<GradientRange> gaps;
  int64_t begin = 0;
  for (const GradientRange& range : all) {
    CHECK_LE(begin, range.begin) << "two processes own one parameter";
    if (begin < range.begin) gaps.push_back({begin, range.begin});
    begin = range.end;
  }
  if (begin < size) gaps.push_back({begin, size});
  return gaps;
}

std::vector<GradientRange> Merged(const std::vector<GradientRange>& a, const std::vector<GradientRange>& b) {
  std::vector<GradientRange> both;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both), Before);
  return both;
}

}  // namespace

ModelShards::ModelShards(Task* task, Agreement* agreement, const std::vector<std::vector<GradientRange>>& owned)
    : task_(task),
      agreement_(agreement),
      owned_(owned[agreement->communicator()->rank()]),
      replicated_(Unowned(owned, task->num_parameters())),
      updated_(Merged(owned_, replicated_)) {}

ModelShards::~ModelShards() { task_->sharding()->UnshardModel(); }

absl::StatusOr<std::unique_ptr<ModelShards>> ModelShards::Create(Task* task, Agreement* agreement) {
  CHECK(!agreement->alone());
  if (task->sharding() == nullptr) {
    return absl::InvalidArgumentError("this model cannot be divided over processes: divide its data (ddp)");
  }
  CHECK_EQ(task->terms().size(), 1u);
  const std::vector<std::vector<GradientRange>> owned = task->sharding()->ShardModel(agreement->communicator());
  return std::unique_ptr<ModelShards>(new ModelShards(task, agreement, owned));
}

absl::StatusOr<double> ModelShards::Complete(double weight, double own_squares, Tensor* gradient) {
  std::vector<Tensor> parts;
  for (const GradientRange& range : replicated_) {
    parts.push_back(gradient->Slice(range.begin, {range.end - range.begin}));
  }
  buffer_.assign(1, own_squares);
  AppendValues(parts, &buffer_);
  TermSums none;
  RETURN_IF_ERROR(agreement_->Sum(&none, absl::MakeSpan(buffer_)));
  SetValues(absl::MakeConstSpan(buffer_).subspan(1), absl::MakeSpan(parts));
  double squares = buffer_[0];
  for (const Tensor& part : parts) squares += SumOfSquares(weight, part);
  return std::sqrt(squares);
}

absl::Status ModelShards::AllGather(absl::Span<const ParameterRange> ranges, Tensor* values) {
  CHECK_EQ(values->num_elements(), TotalSize(ranges));
  const int64_t width = ByteSize(values->dtype());
  char* const bytes = static_cast<char*>(values->mutable_data());
  // Clear everything except this process's contribution, so that a sum over processes gathers.
  int64_t done = 0;
  const auto clear_until = [&](int64_t at) { std::memset(bytes + done * width, 0, (at - done) * width); };
  ForEachRange(ranges, [&](const ParameterRange& range, int64_t begin) {
    for (const GradientRange& given : agreement_->writes() ? updated_ : owned_) {
      const int64_t first = std::max(range.begin, given.begin), last = std::min(range.begin + range.size, given.end);
      if (first >= last) continue;
      clear_until(begin + first - range.begin);
      done = begin + last - range.begin;
    }
  });
  clear_until(values->num_elements());
  return agreement_->communicator()->Sum(values);
}

}  // namespace rutile
