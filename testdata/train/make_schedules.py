#!/usr/bin/env python3
"""Writes schedules.json: learning rates by torch.optim.lr_scheduler, for lib/optimizer/schedule/schedule_torch_test.cc.

    python3 testdata/train/make_schedules.py > testdata/train/schedules.json

Each case: the options of rutile (the names of ScheduleOptions), the learning rate, and `rates`, that which step t
trains with, scheduler.step() called after every step. `warmup` multiplies by LinearLR with total_iters = warmup_steps.
For plateau `losses` are what scheduler.step(loss) is told; rates[t] is the rate after it.
"""

import json

import torch
from torch.optim import lr_scheduler as lrs


def optimizer(lr):
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)


def rates(make, lr, n):
    opt = optimizer(lr)
    scheduler = make(opt)
    values = []
    for t in range(n):
        values.append(opt.param_groups[0]["lr"])
        opt.step()
        if t + 1 < n:
            scheduler.step()
    return values


CASES = []


def case(name, options, make, lr, n, warmup=None):
    values = rates(make, lr, n)
    if warmup is not None:
        steps, start = warmup
        options = dict(options, warmup_steps=steps, warmup_start=start)
        ramp = rates(lambda o: lrs.LinearLR(o, start_factor=start, total_iters=steps), 1.0, n)
        values = [value * factor for value, factor in zip(values, ramp)]
    CASES.append({"name": name, "learning_rate": lr, "options": options, "rates": values})


def plateau(name, options, lr, losses, mode="min", **arguments):
    opt = optimizer(lr)
    scheduler = lrs.ReduceLROnPlateau(opt, mode=mode, threshold_mode="rel", **arguments)
    values = []
    for loss in losses:
        scheduler.step(loss)
        values.append(opt.param_groups[0]["lr"])
    CASES.append({"name": name, "learning_rate": lr, "options": options, "losses": losses, "rates": values})


def step(o):
    return lrs.StepLR(o, step_size=7, gamma=0.3)


case("step", {"kind": "step", "period": 7, "factor": 0.3}, step, 0.02, 40)
case("step_warmup", {"kind": "step", "period": 7, "factor": 0.3}, step, 0.02, 40, warmup=(10, 1 / 3))
case("multistep", {"kind": "multistep", "milestones": [3, 4, 20], "factor": 0.5},
     lambda o: lrs.MultiStepLR(o, milestones=[3, 4, 20], gamma=0.5), 0.1, 30)
case("exponential", {"kind": "exponential", "factor": 0.93},
     lambda o: lrs.ExponentialLR(o, gamma=0.93), 0.1, 40)
case("linear_down", {"kind": "linear", "period": 12, "start_factor": 0.75, "end_factor": 0.1},
     lambda o: lrs.LinearLR(o, start_factor=0.75, end_factor=0.1, total_iters=12), 0.1, 20)
case("linear_up", {"kind": "linear", "period": 5, "start_factor": 0.25, "end_factor": 1},
     lambda o: lrs.LinearLR(o, start_factor=0.25, end_factor=1.0, total_iters=5), 0.1, 10)
# Up to T_max: after it PyTorch's cosine rises again, rutile's stays.
case("cosine", {"kind": "cosine", "period": 25, "min_learning_rate": 0.003},
     lambda o: lrs.CosineAnnealingLR(o, T_max=25, eta_min=0.003), 0.05, 26)
case("cosine_warmup", {"kind": "cosine", "period": 25, "min_learning_rate": 0.003},
     lambda o: lrs.CosineAnnealingLR(o, T_max=25, eta_min=0.003), 0.05, 26, warmup=(6, 0.01))
case("cosine_restarts", {"kind": "cosine_restarts", "period": 7, "min_learning_rate": 0.001},
     lambda o: lrs.CosineAnnealingWarmRestarts(o, T_0=7, eta_min=0.001), 0.05, 30)
case("cosine_restarts_longer", {"kind": "cosine_restarts", "period": 3, "period_mult": 3},
     lambda o: lrs.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=3), 0.05, 60)
case("polynomial", {"kind": "polynomial", "period": 20, "power": 0.9},
     lambda o: lrs.PolynomialLR(o, total_iters=20, power=0.9), 0.1, 25)
case("polynomial_linear_warmup", {"kind": "polynomial", "period": 20, "power": 1},
     lambda o: lrs.PolynomialLR(o, total_iters=20, power=1.0), 0.1, 25, warmup=(4, 0.5))
for strategy in "cos", "linear":
    for total, pct in (40, 0.3), (37, 0.25), (10, 0.0), (10, 1.0), (1, 0.3):
        case("one_cycle_%s_%d_%g" % (strategy, total, pct),
             {"kind": "one_cycle", "period": total, "pct_start": pct, "anneal": strategy, "div_factor": 20,
              "final_div_factor": 500},
             lambda o: lrs.OneCycleLR(o, max_lr=0.1, total_steps=total, pct_start=pct, anneal_strategy=strategy,
                                      cycle_momentum=False, div_factor=20, final_div_factor=500), 0.1, total)

LOSSES = [10, 9.5, 9.4995, 9.4, 9.4, 9.4, 9.45, 9.39, 9.3895, 9.5, 9.5, 9.6, 9.7, 9.2, 9.2, 9.2, 9.2, 9.2, 9.2, 9.3,
          9.3, 9.3, 9.3, 9.3, 9.3, 9.3, 9.3, 8, 8, 8, 8, 8, 8, 8, 8, 8]
plateau("plateau", {"kind": "plateau", "factor": 0.5, "patience": 2, "threshold": 0.001}, 0.1, LOSSES,
        factor=0.5, patience=2, threshold=0.001)
plateau("plateau_cooldown", {"kind": "plateau", "factor": 0.3, "patience": 1, "cooldown": 3, "min_learning_rate": 0.002},
        0.1, LOSSES, factor=0.3, patience=1, cooldown=3, min_lr=0.002, threshold=1e-4)
plateau("plateau_max", {"kind": "plateau", "factor": 0.5, "patience": 1, "threshold": 0.01, "maximize": True}, 0.1,
        [0.1, 0.2, 0.201, 0.2, 0.21, 0.3, 0.3, 0.29, 0.3, 0.31, 0.31, 0.31], mode="max", factor=0.5, patience=1,
        threshold=0.01)

print('{"torch": %s, "cases": [' % json.dumps(torch.__version__))
print(",\n".join(json.dumps(c) for c in CASES))
print("]}")
