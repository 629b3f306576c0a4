"""Every stage from one-value tapes to streams means the same, bit for bit, with the transfers the design counts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from mirrored_nests import random_nest, text_of
from parsing import context, parse
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.transforms.loop_invariant_code_motion import LoopInvariantCodeMotionPass

from tapeflow.analysis import scratchpad_split
from tapeflow.analysis.source_names import source_name
from tapeflow.dialects import spad, stream, tape
from tapeflow.dialects.handle import HandleType
from tapeflow.interpreters import Buffer, Fifo, Stack, observe
from tapeflow.transforms.spad_form_layers import SpadFormLayersPass
from tapeflow.transforms.stream_form_fifos import StreamFormFifosPass
from tapeflow.transforms.tape_form_regions import TapeFormRegionsPass

pytestmark = pytest.mark.filterwarnings("ignore::tapeflow.errors.TapeflowRemark")

WORKED_EXAMPLE = Path(__file__).parent / "interpreters" / "worked_example" / "a1_differentiate.mlir"
REGIONS = TapeFormRegionsPass()
STOCK = (CanonicalizePass(), CommonSubexpressionElimination())


def located(module: ModuleOp) -> ModuleOp:
    """`module` with a place of its own for each op and block argument."""
    for line, op in enumerate(module.walk(), start=1):
        op.location = FileLineColLoc(StringAttr("nest.c"), IntAttr(line), IntAttr(1))
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    argument.location = op.location
    return module


def after(module: ModuleOp, *passes: ModulePass) -> ModuleOp:
    """What `passes` make of a copy of `module`, verified after each."""
    module = module.clone()
    for each in passes:
        each.apply(context(), module)
        module.verify()
    return module


def unknown_locations(module: ModuleOp) -> list[str]:
    ops = [op.name for op in module.walk() if isinstance(op.location, UnknownLoc)]
    blocks: list[Block] = [block for op in module.walk() for region in op.regions for block in region.blocks]
    arguments = [str(arg) for block in blocks for arg in block.args if isinstance(arg.location, UnknownLoc)]
    return ops + arguments


def all_tiles(bytes_: int, buffers: int) -> tuple[ModulePass, ...]:
    return REGIONS, SpadFormLayersPass(bytes=bytes_, buffers=buffers)


@pytest.fixture
def small_bursts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bursts of eight bytes, so that tiles of one f64 are possible and small runs have many of them."""
    monkeypatch.setattr(scratchpad_split, "BURST_BYTES", 8)


# The worked example


@cache
def worked_example() -> ModuleOp:
    return located(parse(WORKED_EXAMPLE.read_text()))


def gradient(module: ModuleOp, n: int, m: int):
    """All that the worked example returns and writes, as bytes, and its handles."""
    rng = np.random.default_rng([n, m])
    a, w = rng.uniform(-1, 1, (n, m)), rng.uniform(-1, 1, m)
    a_b, w_b = rng.uniform(-1, 1, (n, m)), rng.uniform(-1, 1, m)
    (function,) = (op.sym_name.data for op in module.ops)
    observed = observe(module, function, (n, m, a, w, 0.75, a_b, w_b))
    values = np.array(observed.results).tobytes() + a_b.tobytes() + w_b.tobytes() + w.tobytes()
    return values, observed.handles


def records_of(handles) -> dict[str, int]:
    """How many records went onto each region, by its bare name."""
    return {handle.name.removeprefix("tape_"): handle.pushes for handle in handles if isinstance(handle, Stack)}


def check_transfers(handles, records: dict[str, int]) -> None:
    """With R records in tiles of N and B buffers: floor(R/N) tiles pushed, max(floor(R/N) - (B-1), 0) fetched."""
    for buffer in handles:
        if isinstance(buffer, Buffer):
            whole_tiles = records[buffer.name.removeprefix("spad_")] // buffer.records
            assert buffer.pushed == whole_tiles
            assert buffer.fetched == max(whole_tiles - (buffer.copies - 1), 0)


SHAPES = [(0, 0), (0, 5), (5, 0), (1, 1), (1, 9), (9, 1), (2, 3), (3, 8), (8, 16), (13, 17)]


@pytest.mark.parametrize(("n", "m"), SHAPES)
@pytest.mark.parametrize("layout", ["aos", "soa"])
def test_worked_example_by_regions(layout: str, n: int, m: int) -> None:
    regions = after(worked_example(), TapeFormRegionsPass(layout=layout))
    values, handles = gradient(regions, n, m)
    assert values == gradient(worked_example(), n, m)[0]
    assert set(records_of(handles)) == {"i", "j", "j_if"}
    assert records_of(handles)["j"] == n * m


@pytest.mark.parametrize(("n", "m"), SHAPES)
@pytest.mark.parametrize("buffers", [1, 2, 3, 4])
@pytest.mark.parametrize("bytes_", [32, 200, 1 << 16])
@pytest.mark.usefixtures("small_bursts")
def test_worked_example_by_tiles(bytes_: int, buffers: int, n: int, m: int) -> None:
    expected, _ = gradient(worked_example(), n, m)
    regions, layers = REGIONS, SpadFormLayersPass(bytes=bytes_, buffers=buffers)
    records = records_of(gradient(after(worked_example(), regions), n, m)[1])
    for stage in ((regions, layers), (regions, layers, StreamFormFifosPass())):
        values, handles = gradient(after(worked_example(), *stage), n, m)
        assert values == expected
        assert any(isinstance(handle, Buffer) for handle in handles)
        check_transfers(handles, records)


@pytest.mark.parametrize("buffers", [1, 2, 3, 4])
def test_worked_example_by_whole_bursts(buffers: int) -> None:
    """The real burst, and a tape of several tiles of each region."""
    n, m = 40, 12
    expected, _ = gradient(worked_example(), n, m)
    records = records_of(gradient(after(worked_example(), REGIONS), n, m)[1])
    passes = (*all_tiles(384 * buffers, buffers), StreamFormFifosPass())
    values, handles = gradient(after(worked_example(), *passes), n, m)
    assert values == expected
    check_transfers(handles, records)
    assert all(handle.pushed > 2 for handle in handles if isinstance(handle, Buffer))


def test_worked_example_takes_the_whole_scratchpad() -> None:
    layers = after(worked_example(), *all_tiles(1024, 2))
    buffers = [op.buffer.type for op in layers.walk() if isinstance(op, spad.AllocOp)]
    assert [buffer.records.data for buffer in buffers] == [8, 64, 24]
    assert sum(buffer.total_bytes for buffer in buffers) == 1024


@pytest.mark.parametrize(
    "between",
    [STOCK, (LoopInvariantCodeMotionPass(), DeadCodeElimination()), (*STOCK, LoopInvariantCodeMotionPass(), *STOCK)],
)
def test_worked_example_with_stock_passes_between(between: tuple[ModulePass, ...]) -> None:
    passes = (*between, *all_tiles(768, 2)[:1], *between, *all_tiles(768, 2)[1:], *between, StreamFormFifosPass())
    streams = after(worked_example(), *passes, *between)
    assert len([op for op in streams.walk() if isinstance(op, stream.CreateOp)]) == 3
    for n, m in SHAPES:
        assert gradient(streams, n, m)[0] == gradient(worked_example(), n, m)[0]


# Random nests: loops up to four deep, zero and one trip, triangles, strides, branches with both arms, sequences


def replayed(module: ModuleOp, n: int, m: int) -> tuple[list[float], list]:
    """What a nest pops, in order, and its handles."""
    out = np.full(20_000, np.nan)
    observed = observe(module, "f", (n, m, out))
    (length,) = observed.results
    return list(out[:length]), list(observed.handles)


NESTS = range(20)
CALLS = [(0, 3), (1, 1), (4, 3)]
TO_STREAMS = (REGIONS, SpadFormLayersPass(bytes=400, buffers=2), StreamFormFifosPass())


@cache
def nest(seed: int, reserve: bool = True) -> ModuleOp:
    return located(parse(text_of(random_nest(seed), reserve=reserve)))


@cache
def expected_of(seed: int, n: int, m: int) -> list[float]:
    """By one-value tapes. The counts of each sweep come back in some order, and each tape's falling."""
    values, handles = replayed(nest(seed), n, m)
    assert all(not handle.records for handle in handles)
    return values


@pytest.mark.parametrize("seed", NESTS)
def test_nest_by_regions(seed: int) -> None:
    for layout in ("aos", "soa"):
        regions = after(nest(seed), TapeFormRegionsPass(layout=layout))
        assert not any(isinstance(op, tape.PushOp | tape.PopOp) for op in regions.walk())
        for n, m in CALLS:
            assert replayed(regions, n, m)[0] == expected_of(seed, n, m)


@pytest.mark.parametrize("seed", NESTS)
@pytest.mark.usefixtures("small_bursts")
def test_nest_by_tiles(seed: int) -> None:
    regions = after(nest(seed), REGIONS)
    for buffers, bytes_ in ((1, 200), (2, 700), (3, 5_000), (4, 100_000)):
        layers = after(regions, SpadFormLayersPass(bytes=bytes_, buffers=buffers))
        streams = after(layers, StreamFormFifosPass())
        for n, m in CALLS:
            records = records_of(replayed(regions, n, m)[1])
            for module in (layers, streams):
                values, handles = replayed(module, n, m)
                assert values == expected_of(seed, n, m)
                check_transfers(handles, records)
                assert all(fifo.closed for fifo in handles if isinstance(fifo, Fifo))


@pytest.mark.parametrize("seed", NESTS[::3])
@pytest.mark.usefixtures("small_bursts")
def test_nest_without_reservations_and_with_stock_passes_between(seed: int) -> None:
    between = [each for ours in TO_STREAMS for each in (*STOCK, ours)]
    streams = after(nest(seed, reserve=False), *between, *STOCK)
    for n, m in CALLS:
        assert replayed(streams, n, m)[0] == expected_of(seed, n, m)


@pytest.mark.parametrize("seed", NESTS)
@pytest.mark.usefixtures("small_bursts")
def test_each_pass_keeps_locations_and_names_handles_apart(seed: int) -> None:
    module = nest(seed)
    assert unknown_locations(module) == []
    for each in TO_STREAMS:
        module = after(module, each)
        assert unknown_locations(module) == []
        handles = [result for op in module.walk() for result in op.results if isinstance(result.type, HandleType)]
        names = [source_name(handle) for handle in handles]
        assert None not in names
        assert len(set(names)) == len(names)


@pytest.mark.usefixtures("small_bursts")
def test_nests_have_what_they_are_for() -> None:
    """Among them are layers in both sweeps, guards, regions that stay in cache and regions of several fields."""
    ops = [op for seed in NESTS[:12] for op in after(nest(seed), *TO_STREAMS[:2]).walk()]
    layers = [op for op in ops if isinstance(op, spad.LayerOp)]
    assert {layer.boundary.data for layer in layers} == set(spad.Boundary)
    assert any(layer.step is not None for layer in layers)
    assert any(isinstance(op, spad.FullOp) for op in ops)
    assert any(isinstance(op, tape.RecordOp) for op in ops)
    assert any(isinstance(op, spad.WriteOp) and len(op.values) > 2 for op in ops)
