"""Vector code inside Numba kernels: products held in registers and transforms of tiles, written in
LLVM IR.

Numba has no vectors, and LLVM finds none in loops over many arrays. These intrinsics write them
explicitly: `LANES` channels are one vector. Every array is float32 and C-contiguous; places count
elements.
"""

import platform
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, reduce
from itertools import chain
from math import prod
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.registry import cpu_target
from numba.core.typing import Signature
from numba.extending import intrinsic
from numpy.polynomial.polynomial import polyfromroots

KERNEL = 3
"""Rows and columns of a kernel."""

POINTS = {
    2: "0 1 -1",
    3: "0 1 -1 -1/2",
    4: "0 1/2 -1/2 3/2 -3/2",
    5: "0 1 -1 2 -2 -1/2",
    6: "0 1 -1 2 -2 1/2 -1/2",
}
"""Finite points of evaluation by side of the tile, m + 1 each; infinity is the last. They are small
fractions in pairs of opposite sign, which share sums. They have the least rounding error (against
float64 on random layers). The error of larger tiles is too large for float32.
"""

WEIGHT = 24
"""Cost of reading a weight from a far cache, in products (measured)."""

Rows = tuple[tuple[Fraction, ...], ...]


class Transforms(NamedTuple):
    """The exact matrices of one tile size; t is m + 2."""

    data: Rows
    """B^T, `[t, t]`."""
    kernel: Rows
    """G, `[t, 3]`."""
    result: Rows
    """A^T, `[m, t]`."""


@cache
def transforms(tile: int) -> Transforms:
    """The matrices by Toom and Cook's scheme for tiles of side `tile`; those of side 1 serve
    kernels of one cell.
    """
    if tile == 1:
        one = ((Fraction(1),),)
        return Transforms(one, one, one)
    points = [Fraction(point) for point in POINTS[tile].split()]
    data, kernel = [], []
    for point in points:
        others = [other for other in points if other != point]
        scale = prod((point - other for other in others), start=Fraction(1))
        data.append([*map(Fraction, polyfromroots(others)), Fraction(0)])
        kernel.append([point**power / scale for power in range(KERNEL)])
    data.append([*map(Fraction, polyfromroots(points))])
    kernel.append([Fraction(0)] * (KERNEL - 1) + [Fraction(1)])
    result = []
    for power in range(tile):
        powers = [point**power for point in points]
        result.append([*powers, Fraction(int(power == tile - 1))])
    return Transforms(*(tuple(map(tuple, rows)) for rows in (data, kernel, result)))


def best_tile(size: int, channels: int, batch: int) -> int:
    """The side of the tile with the least work on boards of `size`, overhanging tiles included."""

    def work(tile: int) -> int:
        """Cost of a call for each output channel, in products; a plain convolution has `batch * 9 *
        size^2 * channels`.

        The transforms cost about as much as t*t more channels. Weights are read once in each call:
        few positions suit small tiles, which have fewer weights.
        """
        parts = (tile + KERNEL - 1) ** 2
        return (
            batch * tiles_across(size, tile) ** 2 * parts * (channels + parts)
            + WEIGHT * parts * channels
        )

    return min(POINTS, key=work)


def tiles_across(size: int, tile: int) -> int:
    """Tiles in a row of a board."""
    return -(-size // tile)


FEATURES = set(cpu_target.target_context.codegen().magic_tuple()[2].split(","))
"""Features of the processor that Numba compiles for, such as `+avx2`."""

LANES = 4
if "+avx" in FEATURES:
    LANES = 8
if "+avx512f" in FEATURES:
    LANES = 16
"""Floats of a vector register."""


def has_many_registers(features: set[str], machine: str) -> bool:
    """Whether the processor has 32 vector registers. LLVM names no feature of Apple's arm64
    processors.
    """
    return "+avx512f" in features or machine.lower() in ("arm64", "aarch64")


MANY_REGISTERS = has_many_registers(FEATURES, platform.machine())

SUMS = 24 if MANY_REGISTERS else 12
"""Vectors that a product sums at once: as many as registers hold next to its factors."""

MOST_COLUMNS = 4 if MANY_REGISTERS else 2
"""Most vectors of a row of a product."""

VECTOR = ir.VectorType(ir.FloatType(), LANES)
FLOAT_BYTES = 4


class Writer:
    """Writes instructions on vectors and on the arguments of an intrinsic, whose `values` are those
    of LLVM.
    """

    def __init__(self, context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> None:
        self.builder = builder
        self.data = [
            context.make_array(kind)(context, builder, value).data
            if isinstance(kind, types.Array)
            else None
            for kind, value in zip(signature.args, values, strict=True)
        ]

    def at(self, array: int, *offsets: Any) -> Any:
        """The address of element `sum(offsets)` of argument number `array`."""
        return self.builder.gep(self.data[array], [reduce(self.builder.add, offsets)])

    def cell(self, array: int, start: Any, cells: int, place: Any, outside: Any) -> Any:
        """A vector of `array`: at `start` plus element `place` of `cells`, or `outside` if that is
        negative.
        """
        offset = self.builder.load(self.at(cells, place))
        address = self.builder.bitcast(self.at(array, start, offset), VECTOR.as_pointer())
        return self.builder.select(
            self.builder.icmp_signed("<", offset, _number(0)), outside, address
        )

    def load(self, pointer: Any) -> Any:
        """The vector at `pointer`."""
        return self.builder.load(
            self.builder.bitcast(pointer, VECTOR.as_pointer()), align=FLOAT_BYTES
        )

    def store(self, value: Any, pointer: Any) -> None:
        """Write a vector to `pointer`."""
        self.builder.store(
            value, self.builder.bitcast(pointer, VECTOR.as_pointer()), align=FLOAT_BYTES
        )

    def spread(self, value: Any) -> Any:
        """A vector of one float."""
        first = self.builder.insert_element(
            ir.Constant(VECTOR, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
        )
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(first, ir.Constant(VECTOR, ir.Undefined), lanes)

    def add_product(self, x: Any, y: Any, total: Any) -> Any:
        """`x * y + total`, rounded once if the processor can."""
        kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
        multiply_add = cgutils.get_or_insert_function(
            self.builder.module, kind, f"llvm.fmuladd.v{LANES}f32"
        )
        return self.builder.call(multiply_add, [x, y, total])

    def largest(self, x: Any, y: Any) -> Any:
        """The larger of two in each lane; y if it is NaN, so that such an answer is not lost."""
        return self.builder.select(self.builder.fcmp_ordered(">", x, y), x, y)

    def constant(self, value: Fraction) -> Any:
        """A vector of one known number."""
        return ir.Constant(VECTOR, [float(value)] * LANES)

    def combine(self, factors: Sequence[Fraction], values: Sequence[Any]) -> Any:
        """The sum of `values` times `factors`; None if every factor is 0."""
        total = None
        # Factors of 1 first: the rest are multiplied and added in one instruction.
        for factor, value in sorted(
            zip(factors, values, strict=True), key=lambda pair: abs(pair[0]) != 1
        ):
            if factor == 0:
                continue
            if total is None:
                total = value if factor == 1 else self.builder.fmul(self.constant(factor), value)
            elif factor in (1, -1):
                total = (self.builder.fadd if factor == 1 else self.builder.fsub)(total, value)
            else:
                total = self.add_product(self.constant(factor), value, total)
        return total

    def multiply(self, rows: Rows, values: Sequence[Any]) -> list[Any]:
        """A matrix times a column of vectors; rows of opposite points share half their sum and
        difference.
        """
        result: list[Any] = []
        while len(result) < len(rows):
            pair = rows[len(result) : len(result) + 2]
            if len(pair) == 2:
                plus = [(a + b) / 2 for a, b in zip(*pair, strict=True)]
                minus = [(a - b) / 2 for a, b in zip(*pair, strict=True)]
                if _terms(plus, minus) + 2 < _terms(*pair):
                    x, y = self.combine(plus, values), self.combine(minus, values)
                    result += [self.builder.fadd(x, y), self.builder.fsub(x, y)]
                    continue
            result.append(self.combine(pair[0], values))
        return result


def _terms(*rows: Sequence[Fraction]) -> int:
    return sum(factor != 0 for factor in chain.from_iterable(rows))


def _shared_columns(rows: Rows) -> tuple[Rows, Rows]:
    """`rows` as a product: sums and differences of the columns of opposite points first, then the
    rest.
    """
    columns, units = np.array(rows, object).T, np.eye(len(rows[0]), dtype=object)
    first: list[Any] = []
    second: list[Any] = []
    while (place := len(first)) < len(columns):
        both, units_of_both = columns[place : place + 2], units[place : place + 2]
        if len(both) == 2 and (abs(both[0]) == abs(both[1])).all():
            first += [units_of_both[0] + units_of_both[1], units_of_both[0] - units_of_both[1]]
            second += [(both[0] + both[1]) / 2, (both[0] - both[1]) / 2]
        else:
            first.append(units[place])
            second.append(columns[place])
    return tuple(map(tuple, first)), tuple(zip(*second, strict=True))


def _number(value: int) -> Any:
    return ir.Constant(ir.IntType(64), value)


def _signature(arguments: Sequence[Any]) -> Signature:
    """A signature with whole numbers in 64 bits, arrays and constants unchanged, and no result."""
    kinds = [types.int64 if type(kind) is types.Integer else kind for kind in arguments]
    return types.void(*kinds)


@intrinsic(prefer_literal=True)
def add_products(  # type: ignore[no-untyped-def]
    context,
    rows,
    columns,
    adds,
    a,
    a_start,
    a_step,
    a_next,
    b,
    b_start,
    depth,
    out,
    out_start,
    out_step,
):
    """`out = a @ b` for `rows` rows and `columns` vectors of columns; all sums stay in registers.

    Row r of `a` begins at `a_start + r * a_step` and has `depth` floats, `a_next` apart. From
    `b_start` on, `b` holds `depth` rows of all columns without a gap. Row r of `out` begins at
    `out_start + r * out_step`. `rows`, `columns` and `adds` are constants; with `adds` the products
    are added to `out`.
    """

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        height, width = signature.args[0].literal_value, signature.args[1].literal_value
        writer = Writer(context, builder, signature, values)
        a_start, a_step, a_next, b_start, depth, out_start, out_step = (
            values[i] for i in (4, 5, 6, 8, 9, 11, 12)
        )
        begins = [
            builder.add(out_start, builder.mul(out_step, _number(row))) for row in range(height)
        ]
        results = [
            [writer.at(10, begin, _number(column * LANES)) for column in range(width)]
            for begin in begins
        ]
        sums = [[cgutils.alloca_once(builder, VECTOR) for _ in range(width)] for _ in range(height)]
        for total, result in zip(chain(*sums), chain(*results), strict=True):
            adds = signature.args[2].literal_value
            builder.store(writer.load(result) if adds else ir.Constant(VECTOR, None), total)
        with cgutils.for_range(builder, depth) as loop:
            at = builder.add(b_start, builder.mul(loop.index, _number(width * LANES)))
            factors = [
                writer.load(writer.at(7, at, _number(column * LANES))) for column in range(width)
            ]
            for row in range(height):
                begin = builder.add(a_start, builder.mul(a_step, _number(row)))
                x = writer.spread(
                    builder.load(writer.at(3, begin, builder.mul(loop.index, a_next)))
                )
                for factor, total in zip(factors, sums[row], strict=True):
                    builder.store(writer.add_product(x, factor, builder.load(total)), total)
        for total, result in zip(chain(*sums), chain(*results), strict=True):
            writer.store(builder.load(total), result)
        return context.get_dummy_value()

    arguments = (
        rows,
        columns,
        adds,
        a,
        a_start,
        a_step,
        a_next,
        b,
        b_start,
        depth,
        out,
        out_start,
        out_step,
    )
    return _signature(arguments), write


@intrinsic(prefer_literal=True)
def transform_data(context, tile, backward, source, start, cells, first, out, out_start, out_step):  # type: ignore[no-untyped-def]
    """`B^T d B` of one vector of channels of a tile; with `backward`, `A d A^T` of the gradient of
    the result.

    Its cells begin in `source` at `start + cells[first + k]` for k in t*t (`backward`: m*m); those
    with a negative number are zero. Product k of the result goes to `out_start + k * out_step` in
    `out`. `tile` and `backward` are constants.
    """

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        matrices, backward = (
            transforms(signature.args[0].literal_value),
            signature.args[1].literal_value,
        )
        matrix = tuple(zip(*matrices.result, strict=True)) if backward else matrices.data
        writer = Writer(context, builder, signature, values)
        start, first, out_start, out_step = (values[i] for i in (3, 5, 7, 8))
        side, zero = len(matrix[0]), cgutils.alloca_once_value(builder, ir.Constant(VECTOR, None))

        def cell(row: int, column: int) -> Any:
            return writer.load(
                writer.cell(2, start, 4, builder.add(first, _number(row * side + column)), zero)
            )

        columns = [
            writer.multiply(matrix, [cell(row, column) for row in range(side)])
            for column in range(side)
        ]
        for row in range(len(matrix)):
            result = writer.multiply(matrix, [columns[column][row] for column in range(side)])
            for column, value in enumerate(result):
                offset = builder.mul(out_step, _number(row * len(matrix) + column))
                writer.store(value, writer.at(6, out_start, offset))
        return context.get_dummy_value()

    return _signature(
        (tile, backward, source, start, cells, first, out, out_start, out_step)
    ), write


@intrinsic(prefer_literal=True)
def transform_result(  # type: ignore[no-untyped-def]
    context,
    tile,
    adds,
    found,
    found_start,
    found_step,
    bias,
    bias_start,
    least,
    out,
    start,
    cells,
    first,
):
    """`max(least, A^T m A + bias)` of one vector of channels of a tile; with `adds`, plus the
    values in `out`.

    Product k of m is at `found_start + k * found_step` in `found`. Cell k of the tile is at `start
    + cells[first + k]` in `out`; it is left out if that number is negative. `tile` and `adds` are
    constants.
    """

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        matrix, adds = (
            transforms(signature.args[0].literal_value).result,
            signature.args[1].literal_value,
        )
        shared, rest = _shared_columns(matrix)
        side = len(matrix[0])
        writer = Writer(context, builder, signature, values)
        found_start, found_step, bias_start, least, start, first = (
            values[i] for i in (3, 4, 6, 7, 9, 11)
        )

        def product(row: int, column: int) -> Any:
            return writer.load(
                writer.at(2, found_start, builder.mul(found_step, _number(row * side + column)))
            )

        def apply(values: list[Any]) -> list[Any]:
            return writer.multiply(rest, [writer.combine(row, values) for row in shared])

        columns = [apply([product(row, column) for row in range(side)]) for column in range(side)]
        offset, floor = writer.load(writer.at(5, bias_start)), writer.spread(least)
        outside = cgutils.alloca_once_value(builder, ir.Constant(VECTOR, None))
        for row in range(len(matrix)):
            for column, value in enumerate(apply([columns[column][row] for column in range(side)])):
                number = builder.add(first, _number(row * len(matrix) + column))
                target, value = (
                    writer.cell(8, start, 10, number, outside),
                    builder.fadd(value, offset),
                )
                if adds:
                    value = builder.fadd(value, writer.load(target))
                writer.store(writer.largest(floor, value), target)
        return context.get_dummy_value()

    arguments = (
        tile,
        adds,
        found,
        found_start,
        found_step,
        bias,
        bias_start,
        least,
        out,
        start,
        cells,
        first,
    )
    return _signature(arguments), write


@intrinsic(prefer_literal=True)
def weighted_sum(context, source, start, bias, bias_start, weights, count):  # type: ignore[no-untyped-def]
    """The sum of `max(0, source + bias) * weights` over `count` vectors of channels, a float32.

    The values begin at `start`, their biases at `bias_start`, their weights at 0.
    """

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        writer = Writer(context, builder, signature, values)
        start, bias_start, count = (values[i] for i in (1, 3, 5))
        total = cgutils.alloca_once_value(builder, ir.Constant(VECTOR, None))
        with cgutils.for_range(builder, count) as loop:
            at = builder.mul(loop.index, _number(LANES))
            x = builder.fadd(
                writer.load(writer.at(0, start, at)), writer.load(writer.at(2, bias_start, at))
            )
            x = writer.largest(ir.Constant(VECTOR, None), x)
            builder.store(
                writer.add_product(x, writer.load(writer.at(4, at)), builder.load(total)), total
            )
        result = builder.load(total)
        lanes = [
            builder.extract_element(result, ir.Constant(ir.IntType(32), lane))
            for lane in range(LANES)
        ]
        while len(lanes) > 1:
            lanes = [builder.fadd(*lanes[lane : lane + 2]) for lane in range(0, len(lanes), 2)]
        return lanes[0]

    signature = _signature((source, start, bias, bias_start, weights, count))
    return types.float32(*signature.args), write
