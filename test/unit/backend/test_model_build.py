"""The same text on the modelled machine: the same bits, transfers as the design counts them, clean under sanitizers."""

import numpy as np
import pytest
from c_build import SANITIZE, run_driver
from parsing import context, parse
from stages import INPUTS, STAGES, module
from xdsl.dialects.builtin import ModuleOp

from tapeflow.backend.c_printer import print_c
from tapeflow.backend.model_build import ModelFunction, build_model
from tapeflow.backend.native import NativeFunction
from tapeflow.backend.printed import PrintedC
from tapeflow.backend.schedule_header import schedule_printed
from tapeflow.hardware import Hardware
from tapeflow.transforms.spad_form_layers import SpadFormLayersPass
from tapeflow.transforms.stream_form_fifos import StreamFormFifosPass
from tapeflow.transforms.tape_form_regions import TapeFormRegionsPass

pytestmark = pytest.mark.filterwarnings("ignore::tapeflow.errors.TapeflowRemark")

HARDWARE = Hardware.preset("stream-1k")


def modelled(printed: PrintedC, name: str) -> ModelFunction:
    return build_model(printed, name, HARDWARE.machine_header(), schedule_printed(printed, HARDWARE).header)


def arguments(n: int, m: int) -> list[object]:
    rng = np.random.default_rng(n * 100 + m)
    return [n, m, rng.normal(size=(n, m)), rng.normal(size=m), 0.75, rng.normal(size=(n, m)), rng.normal(size=m)]


@pytest.mark.parametrize("stage", STAGES)
def test_values_are_those_of_the_native_machine(stage: str):
    printed = print_c(module("worked_example", stage))
    native, model = NativeFunction(printed, "f_grad"), modelled(printed, "f_grad")
    counters = []
    for n, m in [(0, 0), (0, 3), (3, 0), (3, 5), (8, 24), (33, 70), (3, 5)]:
        one, other = arguments(n, m), arguments(n, m)
        assert native.call(one) == model.call(other)
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
        counters.append(model.counters)
    assert counters[3] == counters[-1], "a call starts cold, whatever ran before"


@pytest.mark.parametrize(("stage", "copies"), [("layers", 2), ("streams", 2), ("streams-3", 3)])
def test_tiles_are_those_of_the_design(stage: str, copies: int):
    ir = module("worked_example", stage)
    tiles = {op.results[0].type for op in ir.walk() if op.name == "spad.alloc"}
    printed = print_c(ir)
    n, m = 33, 70
    inputs = arguments(n, m)
    records = {8: n, 1: n * m, 16: int((inputs[2] > 0).sum())}
    pushed = [records[tile.record_bytes] // tile.records.data for tile in tiles]
    model = modelled(printed, "f_grad")
    model.call(inputs)
    assert model.counters["tiles_pushed"] == sum(pushed)
    assert model.counters["tiles_fetched"] == sum(tiles - min(copies - 1, tiles) for tiles in pushed)
    assert sum(model.executions.values()) == 4 * n + 4 * n * m - 2 * (n * m - records[16]) - n


def directions(passes: list) -> ModuleOp:
    """Layers that count down, in steps, and whose tape grows: see layers.mlir."""
    ir = parse((INPUTS.parent / "layers.mlir").read_text())
    for a_pass in passes:
        a_pass.apply(context(), ir)
    return ir


@pytest.mark.parametrize("stage", ["layers", "streams"])
@pytest.mark.parametrize("name", ["down_grad", "steps_grad"])
def test_layers_in_every_direction(stage: str, name: str):
    printed = print_c(directions(STAGES[stage][1:]), name=name)
    native, model = NativeFunction(printed, name), modelled(printed, name)
    for n in (0, 1, 63, 64, 65, 128, 129, 1000):
        for function in (native, model):
            x, x_b = np.arange(n, dtype=float), np.zeros(n)
            function.call([n, x, x_b] if name == "down_grad" else [n, 0, x, x_b])
            np.testing.assert_array_equal(x_b, x if name == "down_grad" else np.where(x % 3 == 0, x, 0))


@pytest.mark.parametrize("stage", STAGES)
def test_is_clean_under_sanitizers(tmp_path, stage: str, sanitized_machine: list[str]):
    printed = print_c(module("worked_example", stage))
    headers = {
        "tf_machine.h": HARDWARE.machine_header(),
        "tf_schedule.h": schedule_printed(printed, HARDWARE).header,
    }
    inputs = arguments(9, 31)
    flags = [*SANITIZE, "-DTF_MODEL", "-DTF_MODEL_UNITS", *sanitized_machine]
    numbers = run_driver(tmp_path, printed, "f_grad", inputs, flags=flags, more=headers)
    expected = NativeFunction(printed, "f_grad").call(inputs)
    assert numbers[0] == expected[0]


def test_a_violated_rule_is_an_error():
    # The scratchpad of the machine is smaller than what the layers were formed for.
    ir = parse((INPUTS / "worked_example.mlir").read_text())
    for a_pass in (TapeFormRegionsPass(), SpadFormLayersPass(bytes=4096), StreamFormFifosPass()):
        a_pass.apply(context(), ir)
    model = modelled(print_c(ir), "f_grad")
    with pytest.raises(RuntimeError, match=r"f_grad: scratchpad: its buffers need \d+ bytes, the machine has 1024"):
        model.call(arguments(3, 5))
