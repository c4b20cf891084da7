/* The network: policy and value of one position in the mover's frame, as `hexlit.nets.tower.HexNet` computes them.
 *
 * A map holds one plane a channel. The rows of a plane are one number longer than the board, with a row of zeros above
 * and below, so that a neighbour outside the board is 0 and each tap of a kernel is one fixed distance away.
 */

import { PLANES } from "./board.mjs";
import { BLOCK, LANES, productMemory } from "./product.mjs";

const MAPS = 4; // of the trunk's width
const NORM_EPSILON = 1e-5;
const CONVOLUTION = ".conv.weight"; // ends the name of the kernel of a layer with batch norm

/** The number that 16 bits stand for (IEEE 754 half precision). */
function half(bits) {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

/** The tensors of an exported network, name -> {shape, data}, from {tensors, data}: see `hexlit.web.network_page`. */
export function readTensors({ tensors, data }) {
  const text = atob(data);
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  let place = 0;
  const read = ([name, shape]) => {
    const values = new Float32Array(shape.reduce((product, side) => product * side, 1));
    const width = shape.length > 1 ? 2 : 4; // matrices and kernels have 16 bits a number, vectors 32
    for (let i = 0; i < values.length; i++, place += width) {
      values[i] = width === 2 ? half(view.getUint16(place, true)) : view.getFloat32(place, true);
    }
    return [name, { shape, data: values }];
  };
  return new Map(tensors.map(read));
}

/** erf(x) to 1.5e-7 (Abramowitz and Stegun 7.1.26). */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const terms = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
  const tail = terms.reduce((sum, term) => sum * t + term, 0) * t * Math.exp(-x * x);
  return Math.sign(x) * (1 - tail);
}

const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const ACTIVATIONS = {
  relu: (x) => (x > 0 ? x : 0),
  leaky_relu: (x) => (x > 0 ? x : 0.01 * x),
  silu: (x) => x * sigmoid(x),
  gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  mish: (x) => x * Math.tanh(Math.log1p(Math.exp(-Math.abs(x))) + Math.max(x, 0)),
};

/** A network of `hexlit export format=page`, {config, tensors, data}, ready for boards of any size. */
export class Network {
  /** `plain` keeps it from WebAssembly. */
  constructor(exported, plain = false) {
    this.config = exported.config;
    this.tensors = readTensors(exported);
    this.activation = ACTIVATIONS[this.config.activation];
    this.plain = plain;
    this.size = 0;
  }

  /** Get ready for boards of `size`: the geometry, the memory and the weights in their order. */
  prepare(size) {
    if (size === this.size) return;
    this.size = size;
    this.row = size + 1;
    this.start = this.row + 1; // of the first cell in a plane
    this.cells = Math.ceil((size * this.row) / BLOCK) * BLOCK; // computed, with what lies between the rows
    this.stride = this.start + this.cells + this.row + 1;
    const kernels = [...this.tensors].filter(([name]) => name.endsWith(CONVOLUTION));
    const widest = Math.max(PLANES, ...kernels.map(([, { shape }]) => Math.ceil(shape[0] / LANES) * LANES));
    const map = widest * this.stride;
    const packed = kernels.map(
      ([, { shape }]) => (Math.ceil(shape[0] / LANES) * LANES + 1) * (shape[1] * shape[2] ** 2),
    );
    const room = MAPS * map + packed.reduce((sum, one) => sum + one, 0);
    Object.assign(this, productMemory(4 * room, this.plain));
    this.maps = [...Array(MAPS).keys()].map((number) => number * map);
    this.free = MAPS * map;
    this.layers = new Map();
    for (const [name, kernel] of kernels) {
      const layer = name.slice(0, -CONVOLUTION.length);
      this.layers.set(layer, this.pack(layer, kernel));
    }
  }

  /** Lay the weights of a convolution out as `product.mjs` reads them, batch norm folded in. */
  pack(name, { shape: [outputs, inputs, side], data }) {
    const [scale, bias] = ["scale", "shift"].map((part) => {
      const { data: all } = this.tensors.get(`${name}.${part}`); // of a channel, or of a channel of each board
      return all.length > outputs ? all.subarray(this.size * outputs, (this.size + 1) * outputs) : all;
    });
    const taps = side * side;
    const count = inputs * taps;
    const blocks = Math.ceil(outputs / LANES);
    const weights = this.free;
    const offsets = weights + blocks * LANES * count;
    this.free = offsets + count;
    for (let channel = 0; channel < outputs; channel++) {
      const place = weights + Math.floor(channel / LANES) * LANES * count + (channel % LANES);
      for (let k = 0; k < count; k++) {
        this.floats[place + LANES * k] = data[channel * count + k] * scale[channel];
      }
    }
    const middle = (side - 1) / 2;
    for (let k = 0; k < count; k++) {
      const [down, right] = [Math.floor((k % taps) / side) - middle, (k % side) - middle];
      this.integers[offsets + k] = 4 * (Math.floor(k / taps) * this.stride + down * this.row + right);
    }
    return { outputs, blocks, count, weights, offsets, bias };
  }

  /**
   * `to = layer(from) + bias`, `bias` one number a channel, plus the map `add` where there is one; see `activate`.
   */
  convolve(name, from, to, { bias = null, add = -1 } = {}) {
    const { outputs, blocks, count, weights, offsets, bias: own } = this.layers.get(name);
    const { floats, product, stride, start, cells } = this;
    for (let channel = 0; channel < outputs; channel++) {
      const first = to + channel * stride + start;
      const constant = own[channel] + (bias ? bias[channel] : 0);
      if (add < 0) floats.fill(constant, first, first + cells);
      else
        for (let i = first, j = add - to + first, end = first + cells; i < end; i++, j++)
          floats[i] = floats[j] + constant;
    }
    for (let block = 0; block < blocks; block++) {
      const output = to + block * LANES * stride + start;
      const matrix = 4 * (weights + block * LANES * count);
      for (let cell = 0; cell < cells; cell += BLOCK) {
        product(4 * (from + start + cell), 4 * offsets, count, matrix, 4 * (output + cell), 4 * stride);
      }
    }
  }

  /** Apply the activation to the cells of a map, and make everything between them 0 again. */
  activate(map, channels, activation = this.activation) {
    const { floats, size, row, stride, start, cells } = this;
    const relu = activation === ACTIVATIONS.relu;
    for (let channel = 0; channel < channels; channel++) {
      let at = map + channel * stride + start;
      const end = at + cells;
      for (let r = 0; r < size; r++, at += row) {
        if (relu) for (let c = at; c < at + size; c++) floats[c] = floats[c] > 0 ? floats[c] : 0;
        else for (let c = at; c < at + size; c++) floats[c] = activation(floats[c]);
        floats[at + size] = 0;
      }
      floats.fill(0, at, end);
    }
  }

  /** Mean, mean scaled by the board's size, and maximum of each channel, one after the other. */
  pool(map, channels) {
    const { floats, size, row, stride, start } = this;
    const pooled = new Float64Array(3 * channels);
    for (let channel = 0; channel < channels; channel++) {
      let [sum, most] = [0, -Infinity];
      for (let r = 0, at = map + channel * stride + start; r < size; r++, at += row) {
        for (let c = at; c < at + size; c++) {
          sum += floats[c];
          if (floats[c] > most) most = floats[c];
        }
      }
      const mean = sum / (size * size);
      pooled[channel] = mean;
      pooled[channels + channel] = (mean * (size - 10)) / 10;
      pooled[2 * channels + channel] = most;
    }
    return pooled;
  }

  /** A linear layer of a vector. */
  linear(name, input) {
    const [weight, bias] = [this.tensors.get(`${name}.weight`), this.tensors.get(`${name}.bias`)];
    const [outputs, inputs] = weight.shape;
    const result = Float64Array.from(bias.data);
    for (let o = 0; o < outputs; o++) {
      for (let i = 0; i < inputs; i++) result[o] += weight.data[o * inputs + i] * input[i];
    }
    return result;
  }

  /** One residual block: the map with x, from `maps`, then holds its result. */
  block(prefix) {
    const [x, one, two, result] = this.maps;
    const names = [];
    while (this.layers.has(`${prefix}.layers.${names.length}`)) names.push(`${prefix}.layers.${names.length}`);
    const last = names.pop();
    let inner = x;
    let channels = 0;
    for (const name of names) {
      const to = inner === one ? two : one;
      channels = this.layers.get(name).outputs;
      this.convolve(name, inner, to);
      this.activate(to, channels);
      inner = to;
    }
    const { outputs } = this.layers.get(last);
    const bias = this.tensors.has(`${prefix}.bias.linear.weight`)
      ? this.linear(`${prefix}.bias.linear`, this.pool(inner, channels))
      : null;
    if (this.tensors.has(`${prefix}.gate.squeeze.weight`)) {
      this.convolve(last, inner, result);
      this.gate(`${prefix}.gate`, result, x, outputs, bias);
    } else {
      this.convolve(last, inner, result, { bias, add: x });
    }
    this.activate(result, outputs);
    this.maps = [result, one, two, x];
  }

  /** Squeeze and excitation: `map = map * gate + x + bias`. */
  gate(prefix, map, x, channels, bias) {
    const means = this.pool(map, channels).subarray(0, channels);
    const hidden = this.linear(`${prefix}.squeeze`, means).map(this.activation);
    const gates = this.linear(`${prefix}.excite`, hidden).map(sigmoid);
    const { floats, stride, start, cells } = this;
    for (let channel = 0; channel < channels; channel++) {
      const first = channel * stride + start;
      const constant = bias ? bias[channel] : 0;
      for (let i = first; i < first + cells; i++) {
        floats[map + i] = floats[map + i] * gates[channel] + floats[x + i] + constant;
      }
    }
  }

  /** Every cell attends to every other; the result is added to x. */
  attend(prefix) {
    const { floats, size, row, stride, start } = this;
    const [x] = this.maps;
    const channels = this.tensors.get(`${prefix}.norm.weight`).data.length;
    const heads = this.config.attention_heads;
    const width = channels / heads;
    const [gain, shift] = ["weight", "bias"].map((name) => this.tensors.get(`${prefix}.norm.${name}`).data);
    const place = (cell, channel) => x + channel * stride + start + Math.floor(cell / size) * row + (cell % size);
    const cells = [...Array(size * size).keys()];
    const parts = cells.map((cell) => {
      const values = Float64Array.from({ length: channels }, (_, channel) => floats[place(cell, channel)]);
      const mean = values.reduce((sum, value) => sum + value, 0) / channels;
      const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / channels;
      const normal = values.map(
        (value, i) => ((value - mean) / Math.sqrt(variance + NORM_EPSILON)) * gain[i] + shift[i],
      );
      return this.linear(`${prefix}.queries_keys_values`, normal); // queries, keys, values, each head by head
    });
    const results = cells.map(() => new Float64Array(channels));
    for (let first = 0; first < channels; first += width) {
      for (const cell of cells) {
        const scores = cells.map((other) => {
          let sum = 0;
          for (let i = first; i < first + width; i++) sum += parts[cell][i] * parts[other][channels + i];
          return sum / Math.sqrt(width);
        });
        softmax(scores).forEach((share, other) => {
          for (let i = first; i < first + width; i++) results[cell][i] += share * parts[other][2 * channels + i];
        });
      }
    }
    for (const cell of cells) {
      this.linear(`${prefix}.last`, results[cell]).forEach((value, channel) => {
        floats[place(cell, channel)] += value;
      });
    }
  }

  /**
   * Judge a position: `planes` has PLANES * size * size numbers in the mover's frame. Returns {policy, value}: the
   * probabilities of the first `actions` actions (the cells, and the swap where it is counted), 0 where illegal, and
   * the value for the mover in [-1, 1].
   */
  evaluate(planes, size, actions) {
    this.prepare(size);
    const { floats, row, stride, start, config } = this;
    const area = size * size;
    const board = this.maps[3];
    for (let plane = 0; plane < PLANES; plane++) {
      for (let cell = 0; cell < area; cell++) {
        floats[board + plane * stride + start + Math.floor(cell / size) * row + (cell % size)] =
          planes[plane * area + cell];
      }
    }
    this.convolve("stem", board, this.maps[0]);
    this.activate(this.maps[0], config.channels);
    let number = 0;
    config.blocks.forEach((blocks, stage) => {
      for (const end = number + blocks; number < end; number++) this.block(`blocks.${number}`);
      if (this.tensors.has(`attention.${stage}.norm.weight`)) this.attend(`attention.${stage}`);
    });
    const [x, map] = this.maps;
    this.convolve("summary.layer", x, map);
    this.activate(map, config.value_channels);
    const summary = this.pool(map, config.value_channels);
    this.convolve("policy.layer", x, map, { bias: this.linear("policy.bias", summary) });
    this.activate(map, config.policy_channels);
    const logits = new Float64Array(actions).fill(-Infinity);
    const [weights, bias] = ["weight", "bias"].map((name) => this.tensors.get(`policy.cells.${name}`).data);
    for (let cell = 0; cell < area; cell++) {
      if (planes[cell] || planes[area + cell]) continue; // taken
      const at = map + start + Math.floor(cell / size) * row + (cell % size);
      logits[cell] = bias[0];
      for (let channel = 0; channel < weights.length; channel++)
        logits[cell] += weights[channel] * floats[at + channel * stride];
    }
    if (actions > area && planes[4 * area]) [logits[area]] = this.linear("policy.swap", summary);
    const hidden = this.linear("value.hidden", summary).map(this.activation);
    return { policy: softmax(logits), value: Math.tanh(this.linear("value.last", hidden)[0]) };
  }
}

/** The shares of numbers after exponentiation; -Infinity has none. */
function softmax(logits) {
  const highest = logits.reduce((most, logit) => Math.max(most, logit), -Infinity);
  const weights = logits.map((logit) => Math.exp(logit - highest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}
