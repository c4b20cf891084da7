"""Compiled code of a network's layers on one slice of positions, channels last."""

import numpy as np

from hexlit.hex.jit import kernel
from hexlit.nets.winograd.vectors import LANES, SUMS, add_products, transform_data, transform_result

def convolution(tile, columns):
    rows = SUMS // columns
    t2 = (tile+2)**2
    m2 = tile*tile
    width = columns*LANES
    @kernel
    def convolve(source, reads, depth, weights, bias, bias_step, least, adds, total, out, writes, data, found, tiles, positions, block, source_step, channels):
        """..."""
        padded = -(-depth // LANES) * LANES
        data_step = block * padded + LANES
        found_step = block * channels + LANES
        count = tiles * positions
        for begin in range(0, count, block):
            end = min(count, begin + block)
            for number in range(begin, end):
                position, which = divmod(number, tiles)
                for channel in range(0, padded, LANES):
                    transform_data(tile, source, position * source_step * padded + channel, reads, which * t2, data, (number - begin) * padded + channel, data_step)
            for part in range(t2):
                for column in range(0, channels, width):
                    panel = (part * channels + column) * depth
                    for row in range(0, end - begin, rows):
                        add_products(rows, columns, data, part * data_step + row * padded, padded, weights, panel, depth, found, part*found_step + row * channels + column, channels)
            for number in range(begin, end):
                position, which = divmod(number, tiles)
                for channel in range(0, channels, LANES):
                    if adds:
                        transform_result(tile, True, found, (number-begin)*channels + channel, found_step, bias, position*bias_step + channel, least, total, out, position*source_step*channels + channel, writes, which * m2)
                    else:
                        transform_result(tile, False, found, (number-begin)*channels + channel, found_step, bias, position*bias_step + channel, least, total, out, position*source_step*channels + channel, writes, which * m2)
    return convolve
