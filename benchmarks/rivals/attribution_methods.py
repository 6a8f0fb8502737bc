"""How attribution.py calls captum, dattri, kronfluence and TRAK: the scores [train, tests] of each of their methods.

A score is the rise of a test's energy if the structure is left out, in units of the method: the product of the
derivative of the energy and of the structure's loss, through what the method takes for the inverse of the curvature.
"""

import functools
import importlib.util
import logging
import warnings

import numpy
import torch

warnings.filterwarnings('ignore')

PACKAGES = {'captum': 'captum', 'dattri': 'dattri', 'kronfluence': 'kronfluence', 'trak': 'traker'}
DAMPINGS = (1e-3, 1e-2, 1e-1)


def installed():
    return [package for module, package in PACKAGES.items() if importlib.util.find_spec(module)]


class Problem:
    """The model, data, and functions of one run in fp32."""

    def __init__(self, run):
        self.run = run
        self.model = run.model().float().eval()
        self.last = {name: value.float() for name, value in run.checkpoints[-1].items()}
        self.states = [{name: value.float() for name, value in state.items()} for state in run.checkpoints]
        self.rates = run.rates
        self.model.load_state_dict(self.last)
        self.train = torch.utils.data.TensorDataset(*run.train.tensors(torch.float32))
        self.test = torch.utils.data.TensorDataset(*run.test.tensors(torch.float32))

    def loaders(self):
        return [torch.utils.data.DataLoader(data, batch_size=len(data)) for data in (self.train, self.test)]


def energy_of(model, parameters, feature, weight):
    return torch.func.functional_call(model, parameters, (feature, weight))


# ---- captum


def captum_method(run, name, **options):
    from captum import influence
    problem = Problem(run)
    states = dict(zip('abcdefghijklmnopqrstuvwxyz', problem.states)) if name == 'TracInCP' else {'a': problem.last}
    rates = dict(zip(states, problem.rates)) if name == 'TracInCP' else {'a': 1.0}

    def load(model, key):
        model.load_state_dict(states[key])
        return rates[key]

    common = {'checkpoints_load_func': load, 'loss_fn': torch.nn.MSELoss(reduction='none'),
              'test_loss_fn': lambda energy, target: energy, 'batch_size': len(problem.train)}
    checkpoints = list(states) if name == 'TracInCP' else 'a'
    method = getattr(influence, name)(problem.model, problem.train, checkpoints, **common, **options)
    return method.influence(tuple(problem.test.tensors)).detach().numpy().T


# ---- dattri


def dattri_task(problem, states):
    from dattri.task import AttributionTask

    def loss(parameters, data):
        feature, weight, target = data
        return ((energy_of(problem.model, parameters, feature, weight) - target) ** 2).mean()

    def energy(parameters, data):
        return energy_of(problem.model, parameters, *data[:2]).mean()

    return AttributionTask(loss_func=loss, model=problem.model, checkpoints=states, target_func=energy)


def dattri_tracin(run, states, weights, normalized):
    from dattri.algorithm.tracin import TracInAttributor
    problem = Problem(run)
    states = problem.states if states == 'all' else [problem.last]
    weights = torch.tensor(problem.rates if weights == 'rates' else [1.0] * len(states))
    train, test = problem.loaders()
    method = TracInAttributor(dattri_task(problem, states), weight_list=weights, normalized_grad=normalized)
    return method.attribute(train, test).numpy()


def dattri_influence(run, name, **options):
    from dattri.algorithm import influence_function
    problem = Problem(run)
    train, test = problem.loaders()
    method = getattr(influence_function, name)(dattri_task(problem, [problem.last]), **options)
    method.cache(train)
    return method.attribute(train, test).detach().numpy()


def dattri_trak(run, states, dimension, regularization):
    """TRAK's features are derivatives of the energy per atom, and its weight Q = 1 - p the derivative of the loss."""
    from dattri.algorithm.trak import TRAKAttributor
    from dattri.task import AttributionTask
    problem = Problem(run)

    def energy(parameters, data):
        return energy_of(problem.model, parameters, *data[:2]).mean()

    def one_less_slope(parameters, data):
        return 1 - 2 * (energy_of(problem.model, parameters, *data[:2]) - data[2])

    task = AttributionTask(loss_func=energy, model=problem.model,
                           checkpoints=problem.states if states == 'all' else [problem.last])
    train, test = problem.loaders()
    method = TRAKAttributor(task, one_less_slope, projector_kwargs={'proj_dim': dimension},
                            regularization=regularization)
    method.cache(train)
    return method.attribute(test).detach().numpy()


# ---- kronfluence


def kronfluence_method(run, strategy, damping):
    from kronfluence.analyzer import Analyzer, prepare_model
    from kronfluence.arguments import FactorArguments, ScoreArguments
    from kronfluence.task import Task
    problem = Problem(run)
    species = run.species

    class EnergyTask(Task):
        def compute_train_loss(self, batch, model, sample=False):
            feature, weight, target = batch
            energy = model(feature, weight)
            if sample:  # the squared error is -log p of a normal distribution of variance 1/2
                target = energy.detach() + 0.5 ** 0.5 * torch.randn_like(energy)
            return ((energy - target) ** 2).sum()

        def compute_measurement(self, batch, model):
            return model(*batch[:2]).sum()

        def get_attention_mask(self, batch):
            return {f'network.{name}.{layer}': (batch[1][:, s] != 0).long()
                    for s, name in enumerate(species) for layer in range(0, 2 * len(run.sizes) - 2, 2)}

    torch.manual_seed(0)
    task = EnergyTask()
    analyzer = Analyzer('run', prepare_model(problem.model, task), task, cpu=True, disable_tqdm=True,
                        log_level=logging.ERROR)
    arguments = FactorArguments(strategy=strategy)
    analyzer.fit_all_factors('factors', problem.train, per_device_batch_size=len(problem.train), factor_args=arguments)
    analyzer.compute_pairwise_scores('scores', 'factors', problem.test, problem.train,
                                     per_device_query_batch_size=len(problem.test),
                                     per_device_train_batch_size=len(problem.train),
                                     score_args=ScoreArguments(damping_factor=damping))
    return analyzer.load_pairwise_scores('scores')['all_modules'].numpy().T


# ---- TRAK


def trak_method(run, states, dimension, regularization):
    from trak import TRAKer
    from trak.modelout_functions import AbstractModelOutput
    from trak.projectors import NoOpProjector
    problem = Problem(run)

    class EnergyOutput(AbstractModelOutput):
        def __init__(self):
            super().__init__()

        @staticmethod
        def get_output(model, weights, buffers, feature, weight, target):
            return torch.func.functional_call(model, (weights, buffers), (feature, weight))

        def get_out_to_loss_grad(self, model, weights, buffers, batch):
            with torch.no_grad():
                energy = torch.func.functional_call(model, (weights, buffers), tuple(batch[:2]))
                return (2 * (energy - batch[2])).reshape(-1, 1)

    (train,), (test,) = map(list, problem.loaders())
    projector = {'projector': NoOpProjector(device='cpu')} if dimension == 0 else {'proj_dim': dimension}
    traker = TRAKer(model=problem.model, task=EnergyOutput(), train_set_size=len(problem.train), save_dir='trak',
                    device='cpu', use_half_precision=False, logging_level=logging.ERROR, lambda_reg=regularization,
                    **projector)
    states = problem.states if states == 'all' else [problem.last]
    for number, state in enumerate(states):
        traker.load_checkpoint(state, model_id=number)
        traker.featurize(batch=train, num_samples=len(problem.train))
    traker.finalize_features()
    traker.projector.model_id = None  # else a projector of one block (0.3.2) does not draw what it has just freed
    for number, state in enumerate(states):
        traker.start_scoring_checkpoint(exp_name='test', checkpoint=state, model_id=number,
                                        num_targets=len(problem.test))
        traker.score(batch=test, num_samples=len(problem.test))
    return numpy.array(traker.finalize_scores(exp_name='test'))


# ---- all of them


def rows(run):
    """(name, function that gives scores) of each method that is installed."""
    have = installed()
    all_rows = []

    def add(package, name, function, *arguments, **options):
        if package in have:
            all_rows.append((f'{package}\t{name}', functools.partial(function, run, *arguments, **options)))

    add('captum', 'TracInCP', captum_method, 'TracInCP')
    add('captum', 'NaiveInfluenceFunction', captum_method, 'NaiveInfluenceFunction')
    for damping in DAMPINGS:
        add('captum', f'NaiveInfluenceFunction, hessian_reg={damping:g}', captum_method, 'NaiveInfluenceFunction',
            hessian_reg=damping)
    add('captum', 'ArnoldiInfluenceFunction', captum_method, 'ArnoldiInfluenceFunction')

    add('dattri', 'TracIn', dattri_tracin, 'all', 'rates', False)
    add('dattri', 'Grad-Dot', dattri_tracin, 'last', 'ones', False)
    add('dattri', 'Grad-Cos', dattri_tracin, 'last', 'ones', True)
    for damping in (0.0,) + DAMPINGS:
        add('dattri', f'IF explicit, regularization={damping:g}', dattri_influence, 'IFAttributorExplicit',
            regularization=damping)
        add('dattri', f'IF CG, regularization={damping:g}', dattri_influence, 'IFAttributorCG', regularization=damping)
    for damping in DAMPINGS:
        add('dattri', f'IF Arnoldi, regularization={damping:g}', dattri_influence, 'IFAttributorArnoldi',
            regularization=damping)
        add('dattri', f'IF DataInf, regularization={damping:g}', dattri_influence, 'IFAttributorDataInf',
            regularization=damping)
    add('dattri', 'IF LiSSA', dattri_influence, 'IFAttributorLiSSA')
    for states, count in (('last', 1), ('all', len(run.checkpoints))):
        for package, function in (('dattri', dattri_trak), ('traker', trak_method)):
            for dimension in (32, 64, 128):
                add(package, f'TRAK, {count} checkpoint{"s" * (count > 1)}, {dimension} directions', function, states,
                    dimension, 0.0)
    for damping in DAMPINGS:
        add('traker', f'TRAK, NoOpProjector, lambda_reg={damping:g}', trak_method, 'last', 0, damping)

    for strategy in ('identity', 'diagonal', 'kfac', 'ekfac'):
        add('kronfluence', strategy, kronfluence_method, strategy, 1e-8)
        if strategy != 'identity':
            add('kronfluence', f'{strategy}, damping of 0.1 mean eigenvalues', kronfluence_method, strategy, None)
    return all_rows
