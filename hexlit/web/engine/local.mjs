/* In the place of the connection to a server: a worker of this page that holds the network. */

import { part } from "../page/elements.mjs";
import { MY_LEVEL } from "../page/my_level.mjs";

const HINT = 64; // simulations of a hint or a review at least

/** Answers the messages of hexlit/web/messages.py, as far as the page sends them without a server. */
export class LocalConnection {
  /** `exported` is the network with its levels; `told(open)` and `failed(text)` are those of `Connection`. */
  constructor(exported, told, failed) {
    Object.assign(this, { exported, told, open: false, number: 0, alone: true, sizes: exported.sizes });
    this.waiting = new Map();
    const script = new Blob([part("worker").textContent], { type: "text/javascript" });
    this.worker = new Worker(URL.createObjectURL(script));
    this.worker.onmessage = ({ data }) => this.take(data);
    this.worker.onerror = ({ message }) => failed(`The network cannot be computed in this browser: ${message}`);
    this.post({ do: "begin", network: exported, size: exported.board }, ({ problem }) => {
      if (problem) failed(problem);
      this.open = true;
      told(true, 0);
    });
  }

  post(message, hear) {
    const id = ++this.number;
    this.waiting.set(id, hear);
    this.worker.postMessage({ id, ...message });
    return id;
  }

  /** Send a request; `hear(answer)` gets each answer. Returns its number, 0 before the network is there. */
  send(message, hear = () => {}) {
    if (!this.open) return 0;
    if (message.do !== "hello") return this.post(message, hear);
    queueMicrotask(() => hear({ ...this.hello(), final: true }));
    return ++this.number;
  }

  /** Ignore further answers to a request. */
  forget(id) {
    this.waiting.delete(id);
  }

  take(answer) {
    const hear = this.waiting.get(answer.id);
    if (answer.final) this.waiting.delete(answer.id);
    hear?.(answer);
  }

  hello() {
    const { levels, level, board, about, version } = this.exported;
    const last = levels.length - 1; // one adviser is enough
    const players = levels.map(({ name, simulations, temperature }, number) => ({
      name,
      title: `Level ${number + 1}`,
      about: simulations
        ? `${simulations} simulations of the network`
        : `${temperature ? "moves drawn from" : "the likeliest move by"} the policy of the network`,
      studies: number === last,
    }));
    const simulations = Math.max(HINT, levels[level].simulations);
    return { type: "hello", version, players, board, simulations, opponent: MY_LEVEL, about };
  }
}
