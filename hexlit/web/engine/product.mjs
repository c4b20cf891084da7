/* The inner product of all convolutions: a WebAssembly module with SIMD that is put together here, and JavaScript.
 *
 * A convolution is a sum over K pairs of an input channel and a tap of its kernel. For one block of BLOCK cells and
 * LANES output channels, output[channel][cell] += weights[k][channel] * input[cell + offsets[k]], for all k.
 */

export const LANES = 4; // output channels of a block
const VECTORS = 3; // of four cells
export const BLOCK = 4 * VECTORS; // cells of a block

/** Of WebAssembly's binary format (https://webassembly.github.io/spec/core/binary/), what is used. */
const CODE = {
  type: 1,
  import: 2,
  function: 3,
  export: 7,
  code: 10,
  func: 0x60,
  i32: 0x7f,
  v128: 0x7b,
  loop: [0x03, 0x40],
  end: 0x0b,
  branchIf: 0x0d,
  get: 0x20,
  set: 0x21,
  tee: 0x22,
  i32Load: [0x28, 2],
  i32Const: 0x41,
  i32Add: 0x6a,
  i32Sub: 0x6b,
  load: [0xfd, 0, 2],
  splat: [0xfd, 9, 2], // loads one number into all four places
  store: [0xfd, 11, 2],
  add: [0xfd, 0xe4, 1],
  multiply: [0xfd, 0xe6, 1],
};

/** A whole number from 0 on, as WebAssembly writes it: seven bits a byte, the lowest first (LEB128). */
const number = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...number(value >> 7)]);
const list = (...items) => [...number(items.length), ...items.flat()];
const sized = (bytes) => [...number(bytes.length), ...bytes];
const section = (id, ...items) => [id, ...sized(list(...items))];
const named = (text) => sized([...text].map((letter) => letter.charCodeAt(0)));

/** The module: `product(input, offsets, count, weights, output, stride)`, all in bytes of the imported memory. */
export function moduleBytes() {
  const [input, offsets, count, weights, output, stride] = [0, 1, 2, 3, 4, 5];
  const address = 6;
  const sums = 7; // LANES * VECTORS of them, VECTORS inputs and a weight follow
  const inputs = sums + LANES * VECTORS;
  const weight = inputs + VECTORS;
  const get = (local) => [CODE.get, ...number(local)];
  const set = (local) => [CODE.set, ...number(local)];
  const grow = (local, bytes) => [...get(local), CODE.i32Const, ...number(bytes), CODE.i32Add, ...set(local)];
  const each = (amount, write) => [...Array(amount).keys()].flatMap(write);
  const channels = (write) => [
    ...get(output),
    ...set(address),
    ...each(LANES, (lane) => [
      ...each(VECTORS, (vector) => write(sums + lane * VECTORS + vector, 16 * vector)),
      ...[...get(address), ...get(stride), CODE.i32Add, ...set(address)],
    ]),
  ];
  const body = [
    ...list([1, CODE.i32], [...number(weight - sums + 1), CODE.v128]), // the local variables
    ...channels((sum, place) => [...get(address), ...CODE.load, ...number(place), ...set(sum)]),
    ...CODE.loop,
    ...[...get(input), ...get(offsets), ...CODE.i32Load, 0, CODE.i32Add, ...set(address)],
    ...each(VECTORS, (vector) => [...get(address), ...CODE.load, ...number(16 * vector), ...set(inputs + vector)]),
    ...each(LANES, (lane) => [
      ...[...get(weights), ...CODE.splat, ...number(4 * lane), ...set(weight)],
      ...each(VECTORS, (vector) => {
        const sum = sums + lane * VECTORS + vector;
        const product = [...get(inputs + vector), ...get(weight), ...CODE.multiply];
        return [...get(sum), ...product, ...CODE.add, ...set(sum)];
      }),
    ]),
    ...grow(offsets, 4),
    ...grow(weights, 4 * LANES),
    ...[...get(count), CODE.i32Const, 1, CODE.i32Sub, CODE.tee, count, CODE.branchIf, 0, CODE.end],
    ...channels((sum, place) => [...get(address), ...get(sum), ...CODE.store, ...number(place)]),
    CODE.end,
  ];
  return new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0], // "\0asm", version 1
    ...section(CODE.type, [CODE.func, ...list(...Array(6).fill([CODE.i32])), ...list()]),
    ...section(CODE.import, [...named("page"), ...named("memory"), 2, 0, 1]), // a memory of a page or more
    ...section(CODE.function, [0]),
    ...section(CODE.export, [...named("product"), 0, 0]),
    ...section(CODE.code, sized(body)),
  ]);
}

/** The same in JavaScript on the numbers of a memory, for browsers without SIMD; places are bytes here, too. */
export function plainProduct(floats, integers) {
  return (input, offsets, count, weights, output, stride) => {
    for (let lane = 0; lane < LANES; lane++) {
      for (let first = 0; first < BLOCK; first += 4) {
        const at = (output + lane * stride) / 4 + first;
        let [a, b, c, d] = [floats[at], floats[at + 1], floats[at + 2], floats[at + 3]];
        for (let k = 0, place = weights / 4 + lane; k < count; k++, place += LANES) {
          const weight = floats[place];
          const from = (input + integers[offsets / 4 + k]) / 4 + first;
          a += weight * floats[from];
          b += weight * floats[from + 1];
          c += weight * floats[from + 2];
          d += weight * floats[from + 3];
        }
        [floats[at], floats[at + 1], floats[at + 2], floats[at + 3]] = [a, b, c, d];
      }
    }
  };
}

/** Memory of `bytes` with the product on it: {floats, integers, product, problem}; `problem` says why it is slow. */
export function productMemory(bytes, plain = false) {
  let problem = "";
  try {
    if (!plain) {
      const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / 65536) });
      const instance = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes()), { page: { memory } });
      const [floats, integers] = [new Float32Array(memory.buffer), new Int32Array(memory.buffer)];
      return { floats, integers, product: instance.exports.product, problem };
    }
  } catch (error) {
    problem = `WebAssembly with SIMD cannot be used here (${error.message}), so the network is many times slower.`;
  }
  const floats = new Float32Array(Math.ceil(bytes / 4));
  const integers = new Int32Array(floats.buffer);
  return { floats, integers, product: plainProduct(floats, integers), problem };
}
