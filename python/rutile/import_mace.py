#!/usr/bin/env python3
"""Writes a MACE model of mace-torch as a file that rutile runs.

    python3 -m rutile.import_mace water.model water.safetensors

MODEL is what mace_run_train writes (*.model). It is a pickle, so that reading it runs code in it: use only files that you
trust. Reading needs torch and mace-torch; rutile needs neither afterwards. The file is of kind mace/1 (docs/formats.md).

Models of scalar messages are written: MACE or ScaleShiftMACE with hidden irreps "Kx0e", one or two layers, products of up
to three (correlation 1 to 3), Bessel functions, silu. All else is refused, and says what it is.
"""

import hashlib
import itertools
import json
import math
import os
import shlex
import struct
import sys

SYMBOLS = ("H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc "
           "Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb "
           "Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og").split()

LARGEST_L = 4
AGNOSTIC, RESIDUAL = "RealAgnosticInteractionBlock", "RealAgnosticResidualInteractionBlock"


class Refused(Exception):
    """Says why a model is not one that rutile runs."""


# ---- invariant products, as in lib/many_body/product_table.h


def harmonics(max_l, x, y, z):
    """Real harmonics of a unit vector as in lib/descriptor/moment_harmonics.h, which are e3nn's ("component")."""
    values = [0.0] * (max_l + 1)**2
    power = 1 + 0j  # (z + ix)^m
    for m in range(max_l + 1):
        before, legendre = 0.0, float(math.prod(range(1, 2 * m, 2)))  # the m-th derivatives of P_(l-1) and P_l at y
        for l in range(m, max_l + 1):
            if l > m:
                before, legendre = legendre, ((2 * l - 1) * y * legendre - (l + m - 1) * before) / (l - m)
            norm = math.sqrt((2 * l + 1) * (2 if m else 1) * math.factorial(l - m) / math.factorial(l + m))
            values[l * l + l + m] = norm * legendre * power.real
            if m:
                values[l * l + l - m] = norm * legendre * power.imag
        power *= complex(z, x)
    return values


def gauss_points(n):
    """Points and weights of Gauss and Legendre on [-1, 1]."""
    points = []
    for i in range(n):
        y = math.cos(math.pi * (i + 0.75) / (n + 0.5))
        for _ in range(100):
            before, p = 0.0, 1.0
            for l in range(1, n + 1):
                before, p = p, ((2 * l - 1) * y * p - (l - 1) * before) / l
            slope = n * (y * p - before) / (y * y - 1)
            y -= p / slope
            if abs(p / slope) < 1e-16:
                break
        points.append((y, 2 / ((1 - y * y) * slope * slope)))
    return points


def cubic_products(max_l):
    """(l1, l2, l3) of the products of degree 3, in the order of their weights."""
    return [(a, b, c) for a in range(max_l + 1) for b in range(a, max_l + 1) for c in range(b, min(max_l, a + b) + 1)
            if (a + b + c) % 2 == 0]  # yapf: disable


def cubic_tensors(max_l):
    """For each product a dict {(i, j, k): coefficient}, symmetric in i, j, k, whose polynomial it is."""
    sums = [{} for _ in cubic_products(max_l)]
    degree = 3 * max_l
    for y, weight in gauss_points(degree // 2 + 1):
        across = math.sqrt(1 - y * y)
        for k in range(degree + 1):
            angle = 2 * math.pi * (k + 0.3) / (degree + 1)
            values = harmonics(max_l, across * math.sin(angle), y, across * math.cos(angle))
            for total, (a, b, c) in zip(sums, cubic_products(max_l)):
                for at in itertools.product(*(range(l * l, (l + 1)**2) for l in (a, b, c))):
                    total[at] = total.get(at, 0.0) + weight * values[at[0]] * values[at[1]] * values[at[2]]
    tensors = []
    for total in sums:
        norm = math.sqrt(math.fsum(w * w for w in total.values()))
        tensor = {}
        for at, w in total.items():
            if abs(w / norm) < 1e-13:
                continue
            for order in itertools.permutations(at):
                tensor[order] = tensor.get(order, 0.0) + w / norm / 6
        tensors.append(tensor)
    return tensors


def square_tensors(max_l):
    """The same of the products of degree 2."""
    return [{(i, i): 1 / math.sqrt(2 * l + 1) for i in range(l * l, (l + 1)**2)} for l in range(max_l + 1)]


def on_products(path, tensors, name):
    """Coefficients c with path = sum_t c_t tensors_t after symmetrization. path: {index: value}."""
    symmetric = {}
    for at, value in path.items():
        orders = list(itertools.permutations(at))
        for order in orders:
            symmetric[order] = symmetric.get(order, 0.0) + value / len(orders)
    weights = []
    for tensor in tensors:
        along = math.fsum(symmetric.get(at, 0.0) * w for at, w in tensor.items())
        weights.append(along / math.fsum(w * w for w in tensor.values()))
    for weight, tensor in zip(weights, tensors):
        for at, w in tensor.items():
            symmetric[at] = symmetric.get(at, 0.0) - weight * w
    rest = max((abs(v) for v in symmetric.values()), default=0.0)
    if rest > 1e-6:
        raise Refused("%s is not a sum of rutile's invariant products: %g is left" % (name, rest))
    return weights


# ---- the model


def kind_of(thing):
    return type(thing).__name__


class State:
    """The tensors of a state dictionary in double precision, of which each must be used or known to hold nothing."""

    IDLE = ("output_mask", "bias", "_zeroed", "conv_tp.weight", "num_interactions", "bessel_fn.r_max", "cutoff_fn.r_max")

    def __init__(self, model):
        self.tensors = model.state_dict()
        self.used = set()

    def take(self, name, *shape):
        if name not in self.tensors:
            raise Refused("it has no tensor %s" % name)
        tensor = self.tensors[name].detach().cpu().double()
        self.used.add(name)
        size = math.prod(shape)
        if tensor.numel() != size:
            raise Refused("its tensor %s has %d numbers, expected %s" % (name, tensor.numel(), " x ".join(map(str, shape))))
        return tensor.reshape(shape)

    def number(self, name):
        return float(self.take(name))

    def check_all_used(self):
        for name, tensor in self.tensors.items():
            idle = name.endswith(self.IDLE) and (not name.endswith(("bias", "conv_tp.weight")) or tensor.numel() == 0)
            if name not in self.used and not idle:
                raise Refused("rutile does not know what its tensor %s is for" % name)


def check_kind(model):
    """Refuses what rutile does not compute, by name."""
    if kind_of(model) not in ("MACE", "ScaleShiftMACE"):
        raise Refused("it is a %s, expected a MACE or ScaleShiftMACE of mace-torch (the .model file of mace_run_train, not a "
                      "compiled one)" % kind_of(model))
    if len(getattr(model, "heads", None) or ["Default"]) > 1:
        raise Refused("it has several heads: %s; expected one (mace_select_head makes a model of one)" % ", ".join(model.heads))
    for name, what in [("pair_repulsion_fn", "a repulsion of pairs (ZBL, --pair_repulsion)"),
                       ("joint_embedding", "embeddings of further properties (charge, spin, ...)"),
                       ("embedding_readout", "a readout of embeddings")]:
        if hasattr(model, name):
            raise Refused("it has %s" % what)
    if getattr(model, "edge_irreps", None) is not None:
        raise Refused("it has edge irreps of their own (--edge_irreps)")
    radial = model.radial_embedding
    if kind_of(radial.bessel_fn) != "BesselBasis":
        raise Refused("its radial functions are of the kind %s, expected BesselBasis" % kind_of(radial.bessel_fn))
    if hasattr(radial, "distance_transform"):
        raise Refused("it transforms distances: %s (--distance_transform)" % kind_of(radial.distance_transform))
    if not getattr(radial, "apply_cutoff", True):
        raise Refused("it applies the cutoff after the radial MLP (apply_cutoff=False)")
    if not 1 <= len(model.interactions) <= 2:
        raise Refused("it has %d layers, expected one or two" % len(model.interactions))
    for t, (interaction, product) in enumerate(zip(model.interactions, model.products)):
        for block in (interaction, product):
            config = getattr(block, "cueq_config", None) or getattr(block, "oeq_config", None)
            if config is not None and getattr(config, "enabled", True):
                raise Refused("it is in the form of cuEquivariance or OpenEquivariance; convert it back with mace's tools")
        if kind_of(interaction) not in (AGNOSTIC, RESIDUAL):
            raise Refused("layer %d is a %s, expected %s or %s" % (t + 1, kind_of(interaction), AGNOSTIC, RESIDUAL))
        for irreps in (interaction.node_feats_irreps, interaction.hidden_irreps):
            if any(part.strip().split("x")[-1] != "0e" for part in str(irreps).split("+")):
                raise Refused("its hidden irreps are %s, expected scalars alone, such as 64x0e" % str(irreps))
        if getattr(interaction, "conv_fusion", None) is not None:
            raise Refused("layer %d has a fused convolution" % (t + 1))
        for layer in list(interaction.conv_tp_weights.children())[:-1]:
            if kind_of(layer) != "_Layer" or not is_silu(layer.act):
                raise Refused("the radial MLP of layer %d is not one of silu" % (t + 1))


def is_silu(activation):
    function = getattr(activation, "f", activation)
    return getattr(function, "__name__", kind_of(function)).lower() == "silu"


def silu_factor(activation):
    """The factor that e3nn puts before silu, so that its second moment is 1."""
    return float(getattr(activation, "cst", 1.0))


def products_of(state, prefix, num_species, channels, max_l):
    """Weights [S, K, P] of rutile's products, from those of mace's paths, of which several are the same product."""
    import torch  # pylint: disable=import-outside-toplevel
    tensors = {1: [{(0,): 1.0}], 2: square_tensors(max_l), 3: cubic_tensors(max_l)}
    known = [name for name in state.tensors if name.startswith(prefix + "U_matrix_")]
    if not known:
        raise Refused("it has no tensors %sU_matrix_*, as if it were in the form of cuEquivariance" % prefix)
    most = max(int(name.rsplit("_", 1)[1]) for name in known)
    if most > 3:
        raise Refused("its products have up to %d factors (correlation), expected at most 3" % most)
    parts = []
    for degree in (1, 2, 3):
        if degree > most:
            parts.append(torch.zeros(num_species, channels, len(tensors[degree]), dtype=torch.float64))
            continue
        name = "%sU_matrix_%d" % (prefix, degree)
        paths = state.tensors[name].shape[-1]
        u = state.take(name, *[(max_l + 1)**2] * degree, paths)
        weight_name = prefix + ("weights_max" if degree == most else "weights.%d" % (most - 1 - degree))
        of_species = state.tensors[weight_name].shape[0]
        weights = state.take(weight_name, of_species, paths, channels)
        if of_species not in (1, num_species):
            raise Refused("its tensor %s is of %d species, expected %d" % (weight_name, of_species, num_species))
        rows = [{} for _ in range(paths)]
        for at in torch.nonzero(u).tolist():
            rows[at[-1]][tuple(at[:-1])] = u[tuple(at)].item()
        on = torch.tensor([on_products(row, tensors[degree], name) for row in rows], dtype=torch.float64)
        parts.append(torch.einsum("spk,pt->skt", weights, on).expand(num_species, -1, -1))
    return torch.cat(parts, dim=2)


def convert(model):
    """Returns (tensors, descriptor) of the file for a model. Refused if rutile cannot run it."""
    import torch  # pylint: disable=import-outside-toplevel
    check_kind(model)
    state = State(model)
    numbers = [int(z) for z in state.take("atomic_numbers", len(model.atomic_numbers))]
    s = len(numbers)
    k = state.tensors["node_embedding.linear.weight"].numel() // s
    frequency = state.take("radial_embedding.bessel_fn.bessel_weights", len(model.radial_embedding.bessel_fn.bessel_weights))
    prefactor = state.number("radial_embedding.bessel_fn.prefactor")
    cutoff, envelope = state.number("r_max"), int(state.number("radial_embedding.cutoff_fn.p"))
    if not 1 <= len(frequency) <= 32 or not 0 < cutoff <= 20 or not 1 <= envelope <= 16 or len(set(numbers)) < s:
        raise Refused("it has %d radial functions (1 to 32), a cutoff of %g Å (up to 20), an envelope of degree %d (1 to 16) and "
                      "the elements %s (each once): expected what stands in brackets" %
                      (len(frequency), cutoff, envelope, numbers))
    max_l = max(ir.ir.l for ir in model.interactions[0].target_irreps)
    if max_l > LARGEST_L:
        raise Refused("its harmonics go to degree %d (max_ell), expected at most %d" % (max_l, LARGEST_L))
    tensors = {"atomic_energy": state.take("atomic_energies_fn.atomic_energies", s), "frequency": frequency}
    shifts = kind_of(model) == "ScaleShiftMACE"
    tensors["scale"] = state.take("scale_shift.scale") if shifts else torch.tensor(1.0, dtype=torch.float64)
    tensors["shift"] = state.take("scale_shift.shift") if shifts else torch.tensor(0.0, dtype=torch.float64)
    embedding = state.take("node_embedding.linear.weight", s, k) / math.sqrt(s)
    num_readouts = len(model.readouts)
    for t, interaction in enumerate(model.interactions):
        to, prefix = "layer%d." % (t + 1), "interactions.%d." % t
        up = state.take(prefix + "linear_up.weight", k, k) / math.sqrt(k)
        tensors[to + "up"] = embedding @ up if t == 0 else up
        layers = list(interaction.conv_tp_weights.children())
        factor, width = prefactor, len(frequency)
        for n, layer in enumerate(layers):
            columns = layer.weight.shape[1]
            matrix = state.take("%sconv_tp_weights.layer%d.weight" % (prefix, n), width, columns)
            tensors["%sradial.%d" % (to, n)] = matrix * (factor / math.sqrt(width))
            factor, width = silu_factor(layer.act) if n + 1 < len(layers) else 1.0, columns
        linear = state.take(prefix + "linear.weight", max_l + 1, k, k) / (math.sqrt(k) * float(interaction.avg_num_neighbors))
        if kind_of(interaction) == AGNOSTIC:
            by_species = state.take(prefix + "skip_tp.weight", max_l + 1, k, s, k) / math.sqrt(k * s)
            tensors[to + "mix"] = torch.einsum("lab,lbsc->slac", linear, by_species)
        else:
            tensors[to + "mix"] = linear[None]
            skip = state.take(prefix + "skip_tp.weight", k, s, k) / math.sqrt(k * s)
            tensors[to + "skip"] = torch.einsum("sa,asb->sb", embedding, skip) if t == 0 else skip.permute(1, 0, 2)
        prefix = "products.%d." % t
        tensors[to + "product"] = products_of(state, prefix + "symmetric_contractions.contractions.0.", s, k, max_l)
        tensors[to + "linear"] = state.take(prefix + "linear.weight", k, k) / math.sqrt(k)
        at = t - len(model.interactions) + num_readouts
        if at < 0:  # use_last_readout_only
            tensors[to + "readout"] = torch.zeros(k, dtype=torch.float64)
            continue
        readout, prefix = model.readouts[at], "readouts.%d." % at
        if kind_of(readout) == "LinearReadoutBlock":
            tensors[to + "readout"] = state.take(prefix + "linear.weight", k) / math.sqrt(k)
            continue
        if kind_of(readout) != "NonLinearReadoutBlock" or not is_silu(readout.non_linearity.acts[0]):
            raise Refused("the readout of layer %d is a %s, or not one of silu (--gate)" % (t + 1, kind_of(readout)))
        nodes = state.tensors[prefix + "linear_2.weight"].numel()
        tensors[to + "readout_hidden"] = state.take(prefix + "linear_1.weight", k, nodes) / math.sqrt(k)
        out = state.take(prefix + "linear_2.weight", nodes) / math.sqrt(nodes)
        tensors[to + "readout_out"] = out * silu_factor(readout.non_linearity.acts[0])
    state.check_all_used()
    for name, tensor in tensors.items():
        if not bool(torch.isfinite(tensor).all()):
            raise Refused("its weights give NaN or infinity in %s" % name)
    descriptor = {"type": "moments", "species": [SYMBOLS[z - 1] for z in numbers], "cutoff": cutoff,
                  "radial_functions": len(frequency), "max_l": max_l, "radial_basis": "bessel", "envelope": envelope,
                  "min_cutoff": 0.0}  # yapf: disable
    return tensors, descriptor


# ---- files


def write_tensors(path, tensors, metadata):
    """Writes a safetensors file, which appears whole or not at all. tensors: name to (shape, flat list of numbers)."""
    header, data = {"__metadata__": metadata}, []
    at = 0
    for name, (shape, values) in tensors.items():
        header[name] = {"dtype": "F64", "shape": list(shape), "data_offsets": [at, at + 8 * len(values)]}
        data.append(struct.pack("<%dd" % len(values), *values))
        at += 8 * len(values)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)
    temporary = "%s.%d.part" % (path, os.getpid())
    try:
        with open(temporary, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + b"".join(data))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def load(path):
    """Unpickles a model."""
    # e3nn reads a file of its own in a way that newer versions of torch allow only if they are told so.
    os.environ.setdefault("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    try:
        import torch  # pylint: disable=import-outside-toplevel
        import mace.modules  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError as error:
        raise Refused("reading it needs torch and mace-torch: %s (pip install mace-torch)" % error) from error
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=False)
    except Exception as error:  # whatever a pickle that is damaged, or of another version, raises
        raise Refused("it is not a model that torch can read: %s: %s" % (type(error).__name__, error)) from error
    if isinstance(loaded, dict):
        raise Refused("it holds a dictionary, as a checkpoint does, not a model; give the .model file of the run")
    return loaded


def main(arguments):
    if len(arguments) != 2 or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 0 if arguments in (["-h"], ["--help"]) else 1
    source, target = arguments
    if os.path.exists(target) and os.path.exists(source) and os.path.samefile(source, target):
        print("import_mace: %s: the file would take the place of the model; name another" % target, file=sys.stderr)
        return 1
    try:
        with open(source, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        tensors, descriptor = convert(load(source))
        metadata = {"kind": "mace/1", "tool": "rutile.import_mace", "units": "length Å, energy eV",
                    "command": shlex.join(["python3", "-m", "rutile.import_mace", *arguments]),
                    "inputs": json.dumps({source: digest}), "descriptor": json.dumps(descriptor, separators=(",", ":"))}  # yapf: disable
        write_tensors(target, {name: (tuple(t.shape), t.reshape(-1).tolist()) for name, t in tensors.items()}, metadata)
    except (OSError, Refused) as error:
        print("import_mace: %s: %s" % (source, error), file=sys.stderr)
        return 1
    print("wrote %s: %s, %d channels, %d layer%s, cutoff %g Å" %
          (target, ", ".join(descriptor["species"]), tensors["layer1.linear"].shape[0], 1 + ("layer2.up" in tensors),
           "s" if "layer2.up" in tensors else "", descriptor["cutoff"]))
    return 0


if __name__ == "__main__":
    # As a script, Python would find ase.py of this directory in place of ASE.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    sys.exit(main(sys.argv[1:]))
