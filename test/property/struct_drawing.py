"""Draws what random programs do with structs: their types, places that hold them, numbers in them, what is copied."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

from syntax import DOUBLE, FLOAT, Compound, Expr, Field, Member, Place, Struct, numbers


@dataclass(frozen=True)
class Known:
    """A struct in scope."""

    place: Place
    type: str
    writable: bool = True


def struct_types(rng: Random, single: str) -> tuple[Struct, ...]:
    """P, of numbers, perhaps S, which holds a P, both all of type `single`; perhaps R, of mixed types."""
    short = (Member("x", single), Member("y", single), Member("w", single, rng.randint(2, 3)))
    structs = [Struct("P", tuple(rng.sample(short, rng.randint(1, 3))))]
    if rng.random() < 0.5:
        members = [Member("z", single), Member("at", "P", rng.choice((0, 0, 2))), Member("u", single, 3)]
        rng.shuffle(members)
        structs.append(Struct("S", (Member("v", single), *members[: rng.randint(1, 3)])))
    if rng.random() < 0.5:
        other = FLOAT if single == DOUBLE else DOUBLE
        members = [Member("a", single), Member("kind", "int"), Member("b", other), Member("q", "P")]
        rng.shuffle(members)
        structs.append(Struct("R", tuple(members)))
    return tuple(structs)


def uniform(structs: Iterable[Struct]) -> list[str]:
    """The types that a parameter may have: their numbers are all of one type."""
    return [struct.name for struct in structs if struct.name != "R"]


def paths(type_: str, structs: tuple[Struct, ...], subscript: Callable[[int], str]) -> list[tuple[str, str]]:
    """What is in a struct, as `.w[1]`, and its type: of each array one element, at a `subscript` for its extent."""
    found: list[tuple[str, str]] = []
    for member in next(struct for struct in structs if struct.name == type_).members:
        path = f".{member.name}" + (f"[{subscript(member.extent)}]" if member.extent else "")
        found.append((path, member.type))
        if any(struct.name == member.type for struct in structs):
            found += [(path + inner, of) for inner, of in paths(member.type, structs, subscript)]
    return found


def field(place: Place, type_: str, structs: tuple[Struct, ...], rng: Random, subscript: Callable[[int], str]) -> Field:
    """Some number of a struct."""
    path, of = rng.choice([(path, of) for path, of in paths(type_, structs, subscript) if of in (DOUBLE, FLOAT)])
    return Field(place, path, of)


def inside(known: Known, structs: tuple[Struct, ...], subscript: Callable[[int], str]) -> list[Known]:
    """A struct and the structs in it."""
    names = {struct.name for struct in structs}
    inner = [(path, of) for path, of in paths(known.type, structs, subscript) if of in names]
    place = known.place
    return [
        known,
        *(
            Known(Place(place.root, place.subscripts, place.pointer, place.member + path), of, known.writable)
            for path, of in inner
        ),
    ]


def compound(
    type_: str, structs: tuple[Struct, ...], number: Callable[[str], Expr], integer: Callable[[], str]
) -> Compound:
    """A struct of drawn numbers."""
    return Compound(tuple(integer() if of == "int" else number(of) for of in numbers(type_, structs)), type_)
