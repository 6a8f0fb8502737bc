// What the tasks that train potentials have in common: their data and model, errors of examples, and the plan of the
// networks' kernel.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_POTENTIAL_TASK_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_POTENTIAL_TASK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/machine/parallel_for.h"
#include "lib/network/kernel_plan.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/atomistic_model.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/example_errors.h"
#include "lib/task/example_sampling.h"
#include "lib/task/framed_model.h"
#include "lib/task/resume_rule.h"
#include "lib/task/task.h"
#include "lib/task/torch/eager_task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// The base class of AtomisticTask and ForceTask.
class PotentialTask : public Task, public ExampleSampling, public EagerTask, public FramedModel {
 public:
  int64_t num_examples() const override { return data_.num_structures(); }
  double ExampleCost(int64_t example) const override { return cost_[example]; }

  ExampleSampling* sampling() override { return this; }
  std::vector<double> SamplingWeights(SamplingPolicy policy, absl::Span<const int64_t> examples) override {
    return errors_.SamplingWeights(policy, examples, model_.targets());
  }
  // With preset max-autotune the state includes the kernel's plan, so that a resumed run computes the same bits.
  NamedTensors State() const override;
  absl::Status SetState(const NamedTensors& state) override;
  std::map<std::string, std::string> ResumeConfig() const override { return ResumeConfigOf(options_); }
  absl::Span<const ResumeRule> ResumeRules() const override;

  DType parameter_dtype() const override { return options_.precision; }
  std::vector<ParameterSlice> parameter_slices() const override { return model_.parameter_slices(); }
  Tensor InitialParameters(uint64_t seed) const override { return model_.InitialParameters(seed); }

  const EagerTask* eager() const override { return this; }

  const FramedModel* framed() const override { return this; }
  ModelFrame Frame() const override;
  bool FrameDependsOn(absl::string_view option) const override;
  absl::Status CarryOver(const ModelFrame& then, Tensor* parameters) const override;

  // Leaves out networks all of whose slices are frozen.
  void SetFrozen(const std::vector<bool>& slices) override;

  absl::Status WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const override {
    return model_.Write(path, parameters, extra);
  }

  const AtomisticModel& model() const { return model_; }

  // Describes to people what the preset did; "" if there is nothing to say.
  const std::string& compile_message() const { return compile_message_; }

 protected:
  PotentialTask(const AtomicData& data, const AtomisticTaskOptions& options, AtomisticModel model);

  // The plan of the kernel's networks; SetPlan also reserves the memory that the plan needs, if that is known.
  virtual const KernelPlan& plan() const = 0;
  virtual void SetPlan(const KernelPlan& plan) = 0;
  // networks: one flag for each species; empty if none is frozen.
  virtual void FreezeNetworks(const std::vector<bool>& networks) = 0;

  const AtomicData data_;
  const AtomisticTaskOptions options_;
  const AtomisticModel model_;
  const std::vector<int32_t> cost_;  // number of atoms of each structure: the trainer asks for it in each step
  ExampleErrors errors_;
  std::unique_ptr<ThreadPool> pool_;  // null: one thread
  std::string compile_message_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_POTENTIAL_TASK_H_
