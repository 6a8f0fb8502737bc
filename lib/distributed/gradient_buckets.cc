#include "lib/distributed/gradient_buckets.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

// Returns what remains of `ranges` without `holes`, in order.
std::vector<GradientRange> Without(absl::Span<const GradientRange> ranges, absl::Span<const GradientRange> holes) {
  std::vector<GradientRange> sorted(holes.begin(), holes.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::vector<GradientRange> left;
  for (const GradientRange& range : ranges) {
    int64_t begin = range.begin;
    for (const GradientRange& hole : sorted) {
      if (hole.end <= begin || hole.begin >= range.end) continue;
      if (hole.begin > begin) left.push_back({begin, hole.begin});
      begin = hole.end;
    }
    if (begin < range.end) left.push_back({begin, range.end});
  }
  return left;
}

// Serializes rows for AddLater: n, width, begin [n], rows [n, width]. More rows may follow.
template <typename T>
void AppendRows(absl::Span<const int64_t> begin, const Tensor& rows, std::string* text) {
  const int64_t head[] = {static_cast<int64_t>(begin.size()), rows.dim(1)};
  text->append(reinterpret_cast<const char*>(head), sizeof(head));
  text->append(reinterpret_cast<const char*>(begin.data()), begin.size() * sizeof(int64_t));
  text->append(reinterpret_cast<const char*>(rows.values<T>().data()), rows.num_bytes());
}

// Takes the next `n` values from a text, which need not be aligned.
template <typename T>
std::vector<T> TakeValues(absl::string_view* text, int64_t n) {
  std::vector<T> values(n);
  const size_t bytes = n * sizeof(T);
  CHECK_LE(bytes, text->size());
  if (bytes > 0) std::memcpy(values.data(), text->data(), bytes);
  text->remove_prefix(bytes);
  return values;
}

template <typename T>
void AddRows(absl::string_view text, Tensor* gradient) {
  const absl::Span<T> all = gradient->mutable_values<T>();
  while (!text.empty()) {
    const std::vector<int64_t> head = TakeValues<int64_t>(&text, 2);
    const std::vector<int64_t> begin = TakeValues<int64_t>(&text, head[0]);
    const std::vector<T> rows = TakeValues<T>(&text, head[0] * head[1]);
    for (size_t i = 0; i < begin.size(); ++i) {
      const absl::Span<T> row = all.subspan(begin[i], head[1]);
      for (int64_t j = 0; j < head[1]; ++j) row[j] += rows[i * head[1] + j];
    }
  }
}

}  // namespace

GradientBuckets::GradientBuckets(Communicator* communicator, DType dtype, int64_t size,
                                 std::vector<GradientRange> early, int64_t bucket_bytes)
    : communicator_(communicator),
      dtype_(dtype),
      size_(size),
      early_(std::move(early)),
      bucket_size_(bucket_bytes / ByteSize(dtype)) {
  CHECK(dtype == DType::kF32 || dtype == DType::kF64);
  SetFrozen({});
}

void GradientBuckets::SetFrozen(absl::Span<const GradientRange> frozen) {
  CHECK_EQ(started_, 0u);
  buckets_.clear();
  AddBuckets(Without(early_, frozen));
  num_early_ = buckets_.size();
  const GradientRange all = {0, size_};
  AddBuckets(Without(Without({&all, 1}, early_), frozen));
}

void GradientBuckets::AddBuckets(absl::Span<const GradientRange> ranges) {
  for (const GradientRange& range : ranges) {
    CHECK(range.begin >= 0 && range.end <= size_) << range.begin << " to " << range.end << " of " << size_;
    for (int64_t begin = range.begin; begin < range.end; begin += bucket_size_) {
      const int64_t end = std::min(begin + bucket_size_, range.end);
      buckets_.push_back({{begin, end}, end - begin});
    }
  }
}

void GradientBuckets::Begin(const Tensor& gradient) {
  CHECK_EQ(started_, 0u);
  CHECK(gradient.dtype() == dtype_ && gradient.num_elements() == size_);
  gradient_ = gradient;
}

void GradientBuckets::Start(size_t bucket) {
  const GradientRange& range = buckets_[bucket].range;
  communicator_->StartSum(gradient_.Slice(range.begin, {range.end - range.begin}));
}

void GradientBuckets::Finish(GradientRange range) {
  for (size_t b = started_; b < num_early_; ++b) {
    Bucket& bucket = buckets_[b];
    const int64_t both = std::min(range.end, bucket.range.end) - std::max(range.begin, bucket.range.begin);
    if (both > 0) bucket.unfinished -= both;
    CHECK_GE(bucket.unfinished, 0) << range.begin << " to " << range.end << " is finished twice";
  }
  while (started_ < num_early_ && buckets_[started_].unfinished == 0) Start(started_++);
}

void GradientBuckets::AddLater(absl::Span<const int64_t> begin, const Tensor& rows) {
  CHECK(rows.dtype() == dtype_ && rows.rank() == 2 && rows.dim(0) == static_cast<int64_t>(begin.size()));
  dtype_ == DType::kF32 ? AppendRows<float>(begin, rows, &later_) : AppendRows<double>(begin, rows, &later_);
}

void GradientBuckets::StartRest(const Tensor& gradient) {
  if (gradient_.data() != gradient.data()) Begin(gradient);
  while (started_ < buckets_.size()) Start(started_++);
}

absl::Status GradientBuckets::Complete(Tensor* gradient) {
  CHECK(started_ == buckets_.size() && gradient->data() == gradient_.data());
  gradient_ = Tensor();
  started_ = 0;
  for (Bucket& bucket : buckets_) bucket.unfinished = bucket.range.end - bucket.range.begin;
  std::vector<std::string> texts;
  if (!early_.empty()) {
    // These rows are few, and travel beside the last buckets.
    ASSIGN_OR_RETURN(texts, communicator_->Gather(later_));
    later_.clear();
  }
  RETURN_IF_ERROR(communicator_->FinishSums());
  for (const std::string& text : texts) {
    dtype_ == DType::kF32 ? AddRows<float>(text, gradient) : AddRows<double>(text, gradient);
  }
  return absl::OkStatus();
}

}  // namespace rutile
