"""Parameters of both classifiers, validated, and the presets of networks.

>>> import lowrankgcn as lg
>>> settings = read_gcn_parameters(lg.GCNClassifier(preset="paper", rank=7).get_params())
>>> settings.learning_rate, settings.rank
(0.2, 7)
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, TypeVar, final, get_type_hints

import numpy as np
import scipy.sparse as sp

from lowrankgcn._validation import LARGEST_OPTION, choice, invalid, positive_float, positive_int
from lowrankgcn.gp.recipe import BLOCK_NAMES
from lowrankgcn.graphs import Graph
from lowrankgcn.graphs.foreign import as_graph
from lowrankgcn.spectral.filters import Filter, as_filters

Class = TypeVar("Class")

#: Values of "auto"; parameters that are not listed stay "auto". The settings of the paper are those
#: of its appendix A4.3, those of "kipf" are of Kipf and Welling (2017).
PRESETS: dict[str, dict[str, Any]] = {
    "default": {
        "architecture": "low-rank",
        "smoother": None,
        "hidden_widths": (32,),
        "n_restarts": 3,
        "optimizer": "adam",
        "max_iter": 200,
        "bias": True,
        "dropout": 0.0,
        "input_dropout": 0.0,
        "features": "scores",
    },
    "paper": {
        "architecture": "low-rank",
        "filter": "pseudoinverse",
        "smoother": None,
        "rank": 20,
        "hidden_widths": (16,),
        "n_restarts": 1,
        "optimizer": "gd",
        "learning_rate": 0.2,
        "max_iter": 1000,
        "l2_penalty": 5e-4,
        "bias": False,
        "dropout": 0.0,
        "input_dropout": 0.0,
        "features": "raw",
    },
    "kipf": {
        "architecture": "full",
        "filter": "linear",
        "smoother": "combined",
        "hidden_widths": (16,),
        "n_restarts": 1,
        "optimizer": "adam",
        "learning_rate": 0.01,
        "max_iter": 200,
        "l2_penalty": 5e-4,
        "bias": True,
        "dropout": 0.5,
        "input_dropout": 0.5,
        "features": "sums",
    },
}
#: Values of "auto" for features on a given sparse graph. With rows of length one, this penalty
#: suits Cora, Citeseer, three hypergraphs and three heterophilous graphs better than 2e-3 or 5e-4.
_SPARSE_GRAPH = PRESETS["kipf"] | {"n_restarts": 5, "l2_penalty": 5e-3, "features": "rows"}
_SPARSE_GRAPH["input_dropout"] = "auto"

_GRAPHS = ("auto", "gaussian", "hypergraph", "knn", "precomputed")
_STEPS = {"gd": 0.2, "adam": 0.02}
#: Default penalty times the number m of labelled rows. A low-rank kernel of norm √n amplifies its
#: input by about √n, so its penalty is multiplied by √n. On 24 tables with ten labels per class,
#: 0.2 √n / m instead of 0.4 / m raised the mean accuracy from 73.1 to 74.2 % and halved the
#: log-loss.
PENALTIES = {"low-rank": 0.2, "reduced": 0.4, "full": 0.4}


def checked(kind: type[Class], parameters: Mapping[str, Any]) -> Class:
    """Make an instance of a dataclass of parameters.

    Its fields may be annotated with a function of a value and its name, which returns the valid
    value.

    Raises
    ------
    ValueError
        If a parameter is invalid.
    """
    values = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        values[name] = parameters[name]
        for check in getattr(hint, "__metadata__", ()):
            values[name] = check(parameters[name], name)
    return kind(**values)


def graph_or_name(graph: Any, name: str) -> str | Graph:
    """Return the name of a graph, or a graph, made of another library's one or of weights."""
    if isinstance(graph, str):
        return choice(graph, name, _GRAPHS)
    if (made := as_graph(graph)) is None:
        raise invalid(name, f"a graph or one of {', '.join(_GRAPHS)}", type(graph).__name__)
    return made


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _unless_auto(check: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Return a function that replaces "auto" by None and passes other values to `check`."""
    return lambda value, name: None if _is_auto(value) else check(value, name)


def _filters(spec: Any, name: str) -> tuple[Filter, ...]:
    return as_filters(spec)


def _widths(widths: Any, name: str) -> tuple[int, ...]:
    if isinstance(widths, numbers.Integral) and not isinstance(widths, bool):
        widths = (widths,)
    if isinstance(widths, (str, bytes)) or not isinstance(widths, (Sequence, np.ndarray)):
        raise invalid(name, "a sequence of integers >= 1", repr(widths))
    return tuple(positive_int(width, name) for width in widths)


def _flag(value: Any, name: str) -> bool:
    # scikit-learn counts levels of `verbose`.
    types = (bool, np.bool_, numbers.Integral) if name == "verbose" else (bool, np.bool_)
    if not isinstance(value, types):
        raise invalid(name, "True or False", repr(value))
    return bool(value)


def _block_names(blocks: Any, name: str) -> tuple[str, ...]:
    if _is_auto(blocks):
        return BLOCK_NAMES
    if isinstance(blocks, str) or not isinstance(blocks, Sequence) or not blocks:
        raise invalid(name, "'auto' or a list of names", repr(blocks))
    return tuple(choice(block, name, BLOCK_NAMES) for block in blocks)


def _by_class(value: Any, name: str, *, words: Sequence[str | None], zero: bool = False) -> Any:
    """Return a word, or a mapping from classes to positive numbers."""
    if isinstance(value, Mapping):
        return {
            label: positive_float(one, f"{name}[{label!r}]", zero=zero)
            for label, one in value.items()
        }
    if not isinstance(value, str | None) or value not in words:
        raise invalid(name, f"one of {words} or a mapping from classes", repr(value))
    return value


def _is_sparse_network(graph: Any) -> bool:
    """Return whether a graph has given sparse weights or hyperedges, not made from rows."""
    if not isinstance(graph, Graph) or graph.node_data is not None:
        return False
    return graph.row_kind == "incidence" or sp.issparse(getattr(graph, "adjacency", None))


_step = partial(positive_float, maximum=LARGEST_OPTION)
_penalty = partial(positive_float, zero=True, maximum=LARGEST_OPTION)
_chance = partial(positive_float, zero=True, below=1.0)
_FitRows = Annotated[int, partial(positive_int, minimum=2)]
_Tolerance = Annotated[float, partial(positive_float, maximum=0.1)]


@final
@dataclass(frozen=True, eq=False)
class GPParameters:
    """Validated parameters of :class:`SpectralGPClassifier`."""

    graph: Annotated[str | Graph, graph_or_name]
    blocks: Annotated[tuple[str, ...], _block_names]
    rank: Annotated[int, positive_int]
    class_shares: Annotated[Any, partial(_by_class, words=("auto", "labels", "equal"))]
    class_weight: Annotated[Any, partial(_by_class, words=(None, "balanced"))]
    fit_rows: _FitRows
    tol: _Tolerance

    def __post_init__(self) -> None:
        if self.class_weight is not None and self.class_shares != "auto":
            got = repr(self.class_weight)
            raise invalid("class_weight", "None if class_shares is not 'auto'", got)


@final
@dataclass(frozen=True, eq=False)
class GCNParameters:
    """Validated parameters of :class:`GCNClassifier`, with the values of the preset for "auto".

    None stands for values that are chosen later: a filter for the spectrum, rank 30 or less, the
    bandwidth of the points, a penalty by :data:`PENALTIES`, dropout of sparse input. The
    additional field `features` is the scale of the features: "raw", standard "scores", "rows" of
    length one or of "sums" one.
    """

    graph: Annotated[str | Graph, graph_or_name]
    architecture: Annotated[str, partial(choice, options=PENALTIES)]
    filter: Annotated[tuple[Filter, ...] | None, _unless_auto(_filters)]
    rank: Annotated[int | None, _unless_auto(positive_int)]
    bandwidth: Annotated[float | None, _unless_auto(positive_float)]
    smoother: Any
    hidden_widths: Annotated[tuple[int, ...], _widths]
    n_restarts: Annotated[int, positive_int]
    optimizer: Annotated[str, partial(choice, options=("auto", *_STEPS))]
    learning_rate: Annotated[float | None, _unless_auto(_step)]
    max_iter: Annotated[int, positive_int]
    l2_penalty: Annotated[float | None, _unless_auto(_penalty)]
    bias: Annotated[bool, _flag]
    dropout: Annotated[float, _chance]
    input_dropout: Annotated[float | None, _unless_auto(_chance)]
    early_stopping: Annotated[bool, _flag]
    class_weight: Annotated[Any, partial(_by_class, words=(None, "balanced"), zero=True)]
    features: str
    fit_rows: _FitRows
    tol: _Tolerance
    dtype: Annotated[str, partial(choice, options=("float32", "float64"))]
    device: Any
    verbose: Annotated[bool, _flag]

    @property
    def scaling(self) -> bool:
        """Whether kernels and features are scaled to unit mean square."""
        return self.features == "scores"


def read_gcn_parameters(parameters: Mapping[str, Any]) -> GCNParameters:
    """Validate all parameters of :class:`GCNClassifier`.

    Raises
    ------
    ValueError
        If a parameter is invalid.
    """
    name = choice(parameters["preset"], "preset", PRESETS)
    preset, graph = PRESETS[name], graph_or_name(parameters["graph"], "graph")
    parameters = {**parameters, "graph": graph}
    chosen = [parameters[key] for key in ("architecture", "filter", "rank")]
    full = chosen[0] == "full" or all(map(_is_auto, chosen))
    if name == "default" and full and _is_sparse_network(graph):
        preset = _SPARSE_GRAPH
    auto = {name: preset.get(name, "auto") for name, value in parameters.items() if _is_auto(value)}
    settings = checked(GCNParameters, {**parameters, **auto, "features": preset["features"]})
    if settings.architecture != "full" and _is_auto(parameters["input_dropout"]):
        settings = replace(settings, input_dropout=0.0)
    if settings.architecture != "full" and settings.input_dropout:
        expected = f"0 with architecture={settings.architecture!r}"
        raise invalid("input_dropout", expected, settings.input_dropout)
    if settings.bandwidth is not None and graph not in ("auto", "gaussian"):
        named = f"graph={graph!r}" if isinstance(graph, str) else "a graph object"
        raise invalid("bandwidth", f"'auto' with {named}", repr(parameters["bandwidth"]))
    step = settings.learning_rate or _STEPS[settings.optimizer]
    return replace(settings, learning_rate=step)
