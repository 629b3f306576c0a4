"""IR from text, for the tests of what it means."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.universe import Universe


def make_context() -> Context:
    context = Context()
    for name, factory in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, factory)
    return context


_CONTEXT = make_context()


def parse(text: str) -> ModuleOp:
    module = Parser(_CONTEXT, text).parse_module()
    module.verify()
    return module
