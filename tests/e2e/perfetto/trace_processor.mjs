// Perfetto's own trace processor, as its UI has it (WebAssembly), for questions in SQL about a trace: a reader that is not ours.
// It is driven as the UI drives it: by messages of its protos/perfetto/trace_processor/trace_processor.proto, of which only what is
// asked here is encoded and decoded.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { runInThisContext } from "node:vm";

const WireType = { VARINT: 0, FIXED64: 1, BYTES: 2, FIXED32: 5 };
const Rpc = { MESSAGE: 1, FATAL_ERROR: 5, REQUEST: 2, APPEND_DATA: 101, QUERY: 103, APPEND_RESULT: 201, QUERY_RESULT: 203 };
const Method = { APPEND: 1, FINALIZE: 2, QUERY: 3 };
const Cell = { NULL: 1, VARINT: 2, FLOAT64: 3, STRING: 4 };

export function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
}
const tag = (field, type) => varint((field << 3) | type);
export const varintField = (field, value) => Buffer.concat([tag(field, WireType.VARINT), varint(value)]);
export const bytesField = (field, bytes) => Buffer.concat([tag(field, WireType.BYTES), varint(bytes.length), bytes]);

// Reads varints of a buffer one after the other.
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  get done() {
    return this.at >= this.bytes.length;
  }
  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  }
  take(count) {
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }
}

// The fields of a message: { field, type, value, raw }. `value`: a BigInt or bytes; `raw`: the field as it is encoded.
export function* fieldsOf(bytes) {
  const reader = new Reader(bytes);
  while (!reader.done) {
    const begin = reader.at;
    const key = Number(reader.varint());
    const type = key & 7;
    let value;
    if (type === WireType.VARINT) value = reader.varint();
    else if (type === WireType.BYTES) value = reader.take(Number(reader.varint()));
    else value = reader.take(type === WireType.FIXED64 ? 8 : 4);
    yield { field: key >> 3, type, value, raw: bytes.subarray(begin, reader.at) };
  }
}

function packedVarints(bytes) {
  const reader = new Reader(bytes);
  const values = [];
  while (!reader.done) values.push(BigInt.asIntN(64, reader.varint()));
  return values;
}

export class TraceProcessor {
  // `folder`: of a package with engine_bundle.js and trace_processor.wasm.
  static async start(folder) {
    const engine = new TraceProcessor();
    // The bundle is a worker's script, and looks for its .wasm file where the program stands.
    Object.assign(globalThis, { self: globalThis, require: createRequire(join(folder, "package.json")), __dirname: folder });
    console.warn = (...words) => engine.said.push(words.join(" "));
    const before = process.cwd();
    process.chdir(folder);
    runInThisContext(readFileSync(join(folder, "engine_bundle.js"), "utf8"), { filename: join(folder, "engine_bundle.js") });
    globalThis.onmessage({ data: { enginePort: engine.port } });
    // Its runtime is there by now; the buffer for requests comes in a promise that it tells nobody of.
    await new Promise((resolve) => setTimeout(resolve, 0));
    process.chdir(before);
    return engine;
  }

  said = []; // what it wrote as warnings
  #replies = [];
  #sequence = 0;
  port = { postMessage: (bytes) => this.#replies.push(Buffer.from(bytes)) };

  // Loads a whole trace; an Error says what was wrong with it.
  load(bytes) {
    const most = 1 << 25;
    for (let at = 0; at < bytes.length; at += most) {
      for (const { field, value } of this.#call(Method.APPEND, bytesField(Rpc.APPEND_DATA, bytes.subarray(at, at + most))))
        if (field === Rpc.APPEND_RESULT)
          for (const part of fieldsOf(value)) if (part.field === 2) throw new Error(part.value.toString());
    }
    this.#call(Method.FINALIZE, Buffer.alloc(0));
  }

  // The rows of an answer, a list of cells each: BigInt, number, string or null.
  query(sql) {
    let columns = 0;
    const cells = [];
    for (const { field, value } of this.#call(Method.QUERY, bytesField(Rpc.QUERY, bytesField(1, Buffer.from(sql))))) {
      if (field !== Rpc.QUERY_RESULT) continue;
      for (const part of fieldsOf(value)) {
        if (part.field === 1) ++columns;
        if (part.field === 2) throw new Error(`${sql}: ${part.value}`);
        if (part.field === 3) cells.push(...cellsOf(part.value));
      }
    }
    const rows = [];
    for (let at = 0; at < cells.length; at += columns) rows.push(cells.slice(at, at + columns));
    return rows;
  }

  #call(method, args) {
    this.#replies = [];
    const message = Buffer.concat([varintField(1, this.#sequence++), varintField(Rpc.REQUEST, method), args]);
    this.port.onmessage({ data: new Uint8Array(bytesField(Rpc.MESSAGE, message)) });
    const fields = [];
    for (const reply of fieldsOf(Buffer.concat(this.#replies)))
      for (const part of fieldsOf(reply.value)) {
        if (part.field === Rpc.FATAL_ERROR) throw new Error(part.value.toString());
        fields.push(part);
      }
    return fields;
  }
}

function cellsOf(batch) {
  let kinds = [];
  let numbers = [];
  let texts = [];
  const reals = [];
  for (const { field, value } of fieldsOf(batch)) {
    if (field === 1) kinds = packedVarints(value).map(Number);
    if (field === 2) numbers = packedVarints(value);
    if (field === 3) for (let at = 0; at < value.length; at += 8) reals.push(value.readDoubleLE(at));
    if (field === 5) texts = value.toString().split("\0");
  }
  const next = { number: 0, real: 0, text: 0 };
  return kinds.map((kind) => {
    if (kind === Cell.NULL) return null;
    if (kind === Cell.VARINT) return numbers[next.number++];
    if (kind === Cell.FLOAT64) return reals[next.real++];
    if (kind === Cell.STRING) return texts[next.text++];
    throw new Error(`a cell of the unknown type ${kind}`);
  });
}
