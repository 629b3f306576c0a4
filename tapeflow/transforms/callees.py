"""The functions that calls which stay calls may be of, with their derivatives as far as they are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, count

from xdsl.dialects import func

from tapeflow.transforms.joint_form import JointForm


class Callees:
    """Functions by name, and names that are free.

    Args:
        functions: in the form of `ad-prepare`; they are left as they are.
        taken: names that no function may be given.

    Attributes:
        functions: those, and the tangent functions of callees.
        joints: the split functions, by the names of both sweeps.
    """

    def __init__(self, functions: Mapping[str, func.FuncOp], taken: Iterable[str]):
        self.functions = dict(functions)
        self.joints: dict[str, JointForm] = {}
        self._taken = set(taken)

    def name(self, *stems: str, members: int | None = None) -> tuple[str, ...]:
        """Names that begin with `stems`, all with the same end, for `members` of a batch; they are taken now."""
        batch = "" if members is None else f"_{members}"
        suffixes = chain([batch], (f"{batch}_{number}" for number in count(2)))
        candidates = (tuple(f"{stem}{suffix}" for stem in stems) for suffix in suffixes)
        names = next(it for it in candidates if not self._taken & set(it))
        self._taken |= set(names)
        return names

    @property
    def split(self) -> Iterable[JointForm]:
        """The split functions, each once."""
        return dict.fromkeys(self.joints.values())

    def add_split(self, joint: JointForm) -> None:
        """`joint` is made."""
        self.joints |= {joint.forward: joint, joint.reverse: joint}
