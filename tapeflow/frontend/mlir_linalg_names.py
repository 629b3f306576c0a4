"""The table of the named `linalg` operations of MLIR 19: what each indexes its operands by, and computes on elements.

Subscripts are written as `numpy.einsum` writes them, `mk,kn->mn`. A window of a convolution is a sum, `h+H,H->h`, or,
where the operation has strides and dilations, `h~H`: the stride times h and the dilation times H. Loops run over the
letters of the output, then over the others as they come; where MLIR has them in another order, that stands first, as
in `bmnk: ...`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ShapedType
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import VerifyException

from tapeflow.dialects.linalg_more import BinaryFunctionAttr, TypeFunctionAttr, UnaryFunctionAttr
from tapeflow.frontend.mlir_linalg_bodies import (
    BINARY,
    UNARY,
    Body,
    Values,
    apply,
    body_of,
    cast_and_apply,
    copy,
    multiply_and_add,
    multiply_and_add_quantized,
    pool,
    select,
)


class Named(NamedTuple):
    """A row of the table."""

    inputs: int
    body: Body
    subscripts: str | None = None
    """None if it goes over the elements of arrays of one shape, and of single values."""
    unsigned: bool = False
    """Whether integers are cast as unsigned ones."""


_CONTRACTIONS: Mapping[str, str] = {
    "batch_matmul": "bmk,bkn->bmn",
    "batch_matmul_transpose_a": "bkm,bkn->bmn",
    "batch_matmul_transpose_b": "bmk,bnk->bmn",
    "batch_matvec": "bmk,bk->bm",
    "batch_mmt4d": "bmnkMNK: bmkMK,bnkNK->bmnMN",
    "batch_reduce_matmul": "bmnk: bmk,bkn->mn",
    "batch_vecmat": "bk,bkn->bn",
    "conv_1d": "h+H,H->h",
    "conv_2d": "h+H w+W,HW->hw",
    "conv_3d": "d+D h+H w+W,DHW->dhw",
    "conv_1d_ncw_fcw": "nc w~W,fcW->nfw",
    "conv_1d_nwc_wcf": "n w~W c,Wcf->nwf",
    "conv_2d_nchw_fchw": "nc h~H w~W,fcHW->nfhw",
    "conv_2d_ngchw_fgchw": "ngc h~H w~W,fgcHW->ngfhw",
    "conv_2d_ngchw_gfchw": "ngc h~H w~W,gfcHW->ngfhw",
    "conv_2d_nhwc_fhwc": "n h~H w~W c,fHWc->nhwf",
    "conv_2d_nhwc_hwcf": "n h~H w~W c,HWcf->nhwf",
    "conv_2d_nhwgc_gfhwc": "n h~H w~W gc,gfHWc->nhwgf",
    "conv_3d_ncdhw_fcdhw": "ndhwfDHWc: nc d~D h~H w~W,fcDHW->nfdhw",
    "conv_3d_ndhwc_dhwcf": "n d~D h~H w~W c,DHWcf->ndhwf",
    "depthwise_conv_1d_ncw_cw": "nwcW: nc w~W,cW->ncw",
    "depthwise_conv_1d_nwc_wc": "n w~W c,Wc->nwc",
    "depthwise_conv_1d_nwc_wcm": "n w~W c,Wcm->nwcm",
    "depthwise_conv_2d_nchw_chw": "nhwcHW: nc h~H w~W,cHW->nchw",
    "depthwise_conv_2d_nhwc_hwc": "n h~H w~W c,HWc->nhwc",
    "depthwise_conv_2d_nhwc_hwcm": "n h~H w~W c,HWcm->nhwcm",
    "depthwise_conv_3d_ncdhw_cdhw": "ndhwDHWc: nc d~D h~H w~W,cDHW->ncdhw",
    "depthwise_conv_3d_ndhwc_dhwc": "ndhwDHWc: n d~D h~H w~W c,DHWc->ndhwc",
    "depthwise_conv_3d_ndhwc_dhwcm": "ndhwmDHWc: n d~D h~H w~W c,DHWcm->ndhwcm",
    "dot": "i,i->",
    "matmul": "mk,kn->mn",
    "matmul_transpose_a": "km,kn->mn",
    "matmul_transpose_b": "mk,nk->mn",
    "matvec": "mn,n->m",
    "mmt4d": "mnkMNK: mkMK,nkNK->mnMN",
    "vecmat": "m,mn->n",
}
"""Sums of products of two operands, added to the third."""

_QUANTIZED: Mapping[str, str] = {
    "conv_2d_ngchw_gfchw_q": _CONTRACTIONS["conv_2d_ngchw_gfchw"],
    "conv_2d_nhwc_fhwc_q": _CONTRACTIONS["conv_2d_nhwc_fhwc"],
    "conv_2d_nhwc_hwcf_q": _CONTRACTIONS["conv_2d_nhwc_hwcf"],
    "conv_3d_ndhwc_dhwcf_q": _CONTRACTIONS["conv_3d_ndhwc_dhwcf"],
    "depthwise_conv_2d_nhwc_hwc_q": _CONTRACTIONS["depthwise_conv_2d_nhwc_hwc"],
    "depthwise_conv_2d_nhwc_hwcm_q": _CONTRACTIONS["depthwise_conv_2d_nhwc_hwcm"],
    "quantized_batch_matmul": _CONTRACTIONS["batch_matmul"],
    "quantized_matmul": _CONTRACTIONS["matmul"],
}
"""The same of what two more operands, single values, are subtracted from."""

_POOLS: Mapping[str, str] = {
    "nchw": "nc h~H w~W,HW->nchw",
    "ncw": "nc w~W,W->ncw",
    "ndhwc": "n d~D h~H w~W c,DHW->ndhwc",
    "nhwc": "n h~H w~W c,HW->nhwc",
    "nwc": "n w~W c,W->nwc",
}
"""What the windows of `pooling_<layout>_<function>` run over."""

_POOLED: Mapping[str, tuple[str, Sequence[str]]] = {
    "sum": ("add", [*_POOLS]),
    "max": ("max_signed", [*_POOLS]),
    "min": ("min_signed", ["ndhwc", "nhwc", "nwc"]),
    "max_unsigned": ("max_unsigned", ["nhwc", "nwc"]),
    "min_unsigned": ("min_unsigned", ["nhwc", "nwc"]),
}
"""The function of two elements that `pooling_<layout>_<function>` is, and the layouts that there are."""


def _poolings() -> Mapping[str, Named]:
    return {
        f"pooling_{layout}_{name}": Named(2, pool(BINARY[function]), _POOLS[layout], unsigned=name.endswith("unsigned"))
        for name, (function, layouts) in _POOLED.items()
        for layout in layouts
    }


_BINARY_NAMES = {"max_signed": "max", "min_signed": "min", "max_unsigned": None, "min_unsigned": None}

NAMED: Mapping[str, Named] = {
    **{name: Named(2, multiply_and_add, subscripts) for name, subscripts in _CONTRACTIONS.items()},
    **{
        name: Named(4, multiply_and_add_quantized, subscripts.replace("->", ",,->"))
        for name, subscripts in _QUANTIZED.items()
    },
    **_poolings(),
    **{name: Named(1, apply(function)) for name, function in UNARY.items()},
    **{
        name: Named(2, apply(function))
        for each, function in BINARY.items()
        if (name := _BINARY_NAMES.get(each, each)) is not None
    },
    "copy": Named(1, copy),
    "fill": Named(1, copy),
    "select": Named(3, select),
    "elemwise_unary": Named(1, cast_and_apply(UNARY["exp"])),
    "elemwise_binary": Named(2, cast_and_apply(BINARY["add"])),
}
"""By the name after `linalg.`; the function of `elemwise_unary` and `elemwise_binary` is the default one."""


def region_of(row: Named, elements: Sequence[Attribute], attributes: Mapping[str, Attribute]) -> Region:
    """The body of an operation on operands with such `elements`, which is not in its pretty text."""
    body, unsigned = row.body, row.unsigned
    match attributes.get("fun"):
        case UnaryFunctionAttr() as function:
            body = cast_and_apply(UNARY[function.data])
        case BinaryFunctionAttr() as function:
            body = cast_and_apply(BINARY[function.data])
        case _:
            pass
    match attributes.get("cast"):
        case TypeFunctionAttr() as function:
            unsigned = function.data == "cast_unsigned"
        case _:
            pass
    return body_of(elements, body, unsigned)


def maps_of(row: Named, operands: Values, attributes: Mapping[str, Attribute]) -> list[AffineMap]:
    """The indexing maps of an operation on `operands`.

    Raises:
        VerifyException: there are not as many operands as there must be, or not as many strides or dilations.
    """
    if len(operands) != row.inputs + 1:
        plural = "" if row.inputs == 1 else "s"
        raise VerifyException(
            f"expected {row.inputs} input{plural} and 1 output, but {len(operands)} operands are given"
        )
    if row.subscripts is None:
        rank = _rank(operands[-1])
        return [AffineMap.identity(rank) if _rank(each) else AffineMap(rank, 0, ()) for each in operands]
    windows = row.subscripts.count("~")
    return einsum_maps(
        row.subscripts, _factors("strides", attributes, windows), _factors("dilations", attributes, windows)
    )


def _rank(operand: SSAValue) -> int:
    return len(operand.type.get_shape()) if isinstance(operand.type, ShapedType) else 0


def _factors(name: str, attributes: Mapping[str, Attribute], windows: int) -> list[int]:
    found = attributes.get(name)
    if found is None:
        return [1] * windows
    if not isinstance(found, DenseIntOrFPElementsAttr):
        raise VerifyException(f"expected {name} as dense elements")
    factors = [int(factor) for factor in cast(Sequence[int], found.get_values())]
    if len(factors) != windows or any(factor < 1 for factor in factors):
        raise VerifyException(f"expected {windows} positive {name}, but got {factors}")
    return factors


def einsum_maps(subscripts: str, strides: Sequence[int] = (), dilations: Sequence[int] = ()) -> list[AffineMap]:
    """The indexing maps of `ab,bc->ac`, for each window `i~j` the next of `strides` and `dilations`."""
    order, _, equation = subscripts.rpartition(":")
    operands = equation.replace("->", ",").split(",")
    letters = order or "".join(dict.fromkeys(re.findall(r"[a-zA-Z]", "".join([operands[-1], *operands]))))
    factors = iter(zip(strides, dilations, strict=True))

    def subscript(text: str) -> AffineExpr:
        along, *window = (AffineExpr.dimension(letters.index(letter)) for letter in (text[0], *text[2:]))
        stride, dilation = next(factors) if "~" in text else (1, 1)
        return sum((_times(each, dilation) for each in window), _times(along, stride))

    return [
        AffineMap(len(letters), 0, tuple(map(subscript, re.findall(r"[a-zA-Z](?:[+~][a-zA-Z])?", part))))
        for part in operands
    ]


def _times(expression: AffineExpr, factor: int) -> AffineExpr:
    return expression if factor == 1 else expression * factor
