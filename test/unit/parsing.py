"""IR from text, with every dialect that the plug-ins know."""

from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.universe import Universe


@cache
def context() -> Context:
    """A context with all dialects."""
    context = Context()
    for name, factory in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, factory)
    return context


def parse(text: str) -> ModuleOp:
    """The verified module that `text` is."""
    module = Parser(context(), text).parse_module()
    module.verify()
    return module
