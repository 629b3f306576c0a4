"""Buffers and FIFOs against a plain Python list, and every use that the protocol forbids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.utils.exceptions import InterpretationError

from tapeflow.interpreters.handles import Buffer, Fifo, Stack


class Blocking:
    """A buffer whose transfers are waited for at once, as `spad-form-layers` makes them."""

    def __init__(self, copies: int, records: int):
        self.home = Stack("home")
        self.buffer = Buffer("buffer", copies, records)

    def leave(self):
        self.buffer.drain(self.home)
        self.buffer.wait()

    def refill(self):
        self.buffer.fetch(self.home)
        self.buffer.wait()


class Streaming:
    """A buffer whose transfers overlap, as `stream-form-fifos` makes them."""

    def __init__(self, copies: int, records: int):
        self.home = Fifo("fifo")
        self.buffer = Buffer("buffer", copies, records)

    def leave(self):
        self.buffer.push(self.home.through(self.buffer))

    def refill(self):
        self.buffer.prefetch(self.home.through(self.buffer))
        self.buffer.pop(self.home.through(self.buffer))


FORMS = [Blocking, Streaming]
SIZES = st.tuples(st.integers(1, 4), st.integers(1, 5))


def write(form, record):
    """The forward sweep: write, and let a full tile leave."""
    form.buffer.write(record)
    if form.buffer.full:
        form.leave()


def read(form):
    """The reverse sweep: refill an empty tile, and read."""
    if form.buffer.empty:
        form.refill()
    return form.buffer.read()


@pytest.mark.parametrize("form", FORMS)
@given(SIZES, st.integers(0, 60))
def test_what_is_written_is_read_backwards(form, sizes, count):
    copies, records = sizes
    machine = form(*sizes)
    for k in range(count):
        write(machine, (k,))
    assert [read(machine) for _ in range(count)] == [(k,) for k in reversed(range(count))]
    assert machine.buffer.pushed == count // records
    assert machine.buffer.pushed - machine.buffer.fetched == min(copies - 1, machine.buffer.pushed)
    assert not machine.home.records
    if isinstance(machine.home, Fifo):
        machine.home.close()


@pytest.mark.parametrize("form", FORMS)
@given(SIZES, st.lists(st.integers(-30, 30), max_size=12))
def test_any_number_of_turns(form, sizes, moves):
    """Sweeps may turn at any time: what is there is always the list that a stack would hold."""
    machine, model, fresh = form(*sizes), [], 0
    for move in moves:
        for _ in range(move):
            model.append((fresh,))
            write(machine, (fresh,))
            fresh += 1
        for _ in range(min(-move, len(model))):
            assert read(machine) == model.pop()
    while model:
        assert read(machine) == model.pop()
    assert machine.buffer.empty
    assert not machine.home.records


@given(SIZES, st.lists(st.integers(-30, 30), max_size=12))
def test_a_stream_always_has_the_tiles_below_on_chip(sizes, moves):
    machine, height = Streaming(*sizes), 0
    for move in moves:
        for _ in range(move):
            write(machine, (0,))
            height += 1
        for _ in range(min(-move, height)):
            read(machine)
            height -= 1
        below = range(max(machine.buffer.tile - (sizes[0] - 1), 0), machine.buffer.tile)
        assert all(machine.buffer.is_on_chip(tile) for tile in below)


def refuses(message):
    return pytest.raises(InterpretationError, match=message)


def filled(form, copies, records, count):
    machine = form(copies, records)
    for k in range(count):
        write(machine, (k,))
    return machine


def test_a_stack_overflows_its_reservation_and_underflows():
    stack = Stack("tape_x", reserve=2)
    stack.push((1,))
    stack.push((2,))
    with refuses("overflow: tape_x holds 3 records, but reserves 2"):
        stack.push((3,))
    assert (stack.pop(), stack.pop()) == ((2,), (1,))
    with refuses("underflow: tape_x is empty"):
        stack.pop()
    assert (stack.pushes, stack.peak) == (2, 2)


def test_a_negative_reservation_holds_nothing():
    with refuses("overflow: tape_x holds 1 records, but reserves -3"):
        Stack("tape_x", reserve=-3).push((1,))


def test_a_full_tile_takes_no_record_and_an_empty_one_gives_none():
    buffer = Buffer("spad_x", 2, 1)
    with refuses("underflow: tile 0 of spad_x is empty"):
        buffer.read()
    buffer.write((1,))
    with refuses(r"overflow: tile 0 of spad_x is full \(1 records\)"):
        buffer.write((2,))


@pytest.mark.parametrize("leave", ["drain", "push"])
def test_only_a_full_tile_leaves(leave):
    buffer = Buffer("spad_x", 2, 3)
    buffer.write((1,))
    with refuses("tile 0 of spad_x is not full: 1 of 3 records"):
        getattr(buffer, leave)(Fifo("fifo_x"))


@pytest.mark.parametrize("turn", ["fetch", "prefetch", "pop"])
def test_only_an_empty_tile_makes_room(turn):
    machine = filled(Blocking, 2, 3, 4)
    with refuses("tile 1 of buffer is not empty: 1 records left"):
        getattr(machine.buffer, turn)(machine.home)


@pytest.mark.parametrize("turn", ["fetch", "pop"])
def test_there_is_nothing_below_the_lowest_tile(turn):
    with refuses("underflow: tile 0 is the lowest of spad_x"):
        getattr(Buffer("spad_x", 2, 3), turn)(Fifo("fifo_x"))


def test_a_copy_that_drains_is_not_written_before_the_wait():
    machine = Blocking(1, 1)
    machine.buffer.write((1,))
    machine.buffer.drain(machine.home)
    with refuses("tile 1 of buffer is written while a transfer of its copy is in flight"):
        machine.buffer.write((2,))
    machine.buffer.wait()
    machine.buffer.write((2,))


def test_the_other_copy_is_written_while_one_drains():
    machine = Blocking(2, 1)
    machine.buffer.write((1,))
    machine.buffer.drain(machine.home)
    machine.buffer.write((2,))
    machine.buffer.drain(machine.home)
    with refuses("tile 2 of buffer is written while a transfer of its copy is in flight"):
        machine.buffer.write((3,))


def test_a_tile_that_is_fetched_is_not_read_before_the_wait():
    machine = filled(Blocking, 1, 1, 2)
    machine.buffer.fetch(machine.home)
    with refuses("tile 1 of buffer is read while a transfer of its copy is in flight"):
        machine.buffer.read()
    machine.buffer.wait()
    assert machine.buffer.read() == (1,)


def test_the_current_copy_is_not_left_in_flight():
    machine = Blocking(1, 1)
    machine.buffer.write((1,))
    machine.buffer.drain(machine.home)
    with refuses("tile 1 of buffer is left while a transfer of its copy is in flight"):
        machine.buffer.fetch(machine.home)


def test_a_prefetch_is_not_started_twice():
    machine = filled(Streaming, 2, 1, 3)
    machine.buffer.prefetch(machine.home)
    with refuses("tile 3 of buffer is fetched into while a transfer of its copy is in flight"):
        machine.buffer.prefetch(machine.home)


def test_nothing_is_written_over_a_prefetch():
    machine = filled(Streaming, 2, 1, 3)
    machine.buffer.prefetch(machine.home)
    with refuses("tile 3 of buffer is written while a transfer of its copy is in flight"):
        machine.buffer.write((9,))


def test_a_pop_needs_the_prefetch_that_keeps_the_copies_filled():
    machine = filled(Streaming, 2, 1, 3)
    with refuses("tile 3 of buffer is popped, but tile 1, which takes its copy, was not prefetched"):
        machine.buffer.pop(machine.home)


def test_near_the_bottom_there_is_nothing_to_prefetch():
    machine = filled(Streaming, 2, 1, 1)
    machine.buffer.pop(machine.home)
    assert machine.buffer.read() == (0,)
    assert machine.buffer.fetched == 0


def test_another_buffer_cannot_take_over():
    machine = filled(Streaming, 2, 1, 3)
    with refuses("other is at tile 0, but fifo holds 3 records and not 0 x 1: another buffer or a record moved it"):
        Buffer("other", 2, 1).pop(machine.home)


def test_a_fifo_closes_once_and_empty():
    machine = filled(Streaming, 2, 2, 3)
    with refuses("fifo is closed, but holds 2 records"):
        machine.home.close()
    read(machine)
    read(machine)
    with refuses("fifo is closed, but buffer holds 1 records"):
        machine.home.close()
    read(machine)
    machine.home.close()
    with refuses("fifo is closed already"):
        machine.home.close()
    with refuses("fifo is closed$"):
        machine.home.through(machine.buffer)
