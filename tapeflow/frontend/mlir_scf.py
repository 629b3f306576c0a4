"""The text of `scf.parallel`, which xDSL 0.75 does not have in MLIR's form."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Operation
from xdsl.parser import Parser, UnresolvedOperand

from tapeflow.frontend.mlir_pieces import arrow_types, index_operands, loop_variables


def parse_parallel(parser: Parser) -> Operation:
    """What stands behind `scf.parallel`: `(%i) = (%a) to (%b) step (%c) init (%x) -> f64 {...}`."""
    variables = loop_variables(parser)
    lower = index_operands(parser, parser.Delimiter.PAREN)
    parser.parse_keyword("to")
    upper = index_operands(parser, parser.Delimiter.PAREN)
    parser.parse_keyword("step")
    step = index_operands(parser, parser.Delimiter.PAREN)
    inits: list[UnresolvedOperand] = []
    position = parser.pos
    if parser.parse_optional_keyword("init") is not None:
        inits = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    types = arrow_types(parser)
    body = parser.parse_region(variables)
    if not isinstance(body.block.last_op, scf.ReduceOp):
        body.block.add_op(scf.ReduceOp())
    loop = scf.ParallelOp(lower, upper, step, body, parser.resolve_operands(inits, types, position))
    loop.attributes |= parser.parse_optional_attr_dict()
    return loop
