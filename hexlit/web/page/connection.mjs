/* The connection to the server. */

import { inTurns } from "./rules.mjs";

/** Milliseconds to wait before the connection is tried again for the n-th time: doubled, at most 15 s. */
export const patience = (attempt, random = 0.5) => Math.min(15000, 500 * 2 ** attempt) * (0.75 + 0.5 * random);

/** One WebSocket, opened again whenever it is lost. Answers go to whoever asked, by the number of the request. */
export class Connection {
  /**
   * `told(open, seconds)` hears whenever the connection opens or is lost, with the seconds until the next attempt;
   * `failed(text)` hears of errors that belong to no request.
   */
  constructor(address, told, failed) {
    Object.assign(this, { address, told, failed, open: false, number: 0, attempt: 0 });
    this.waiting = new Map();
    this.connect();
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.hurry();
    });
  }

  connect() {
    clearTimeout(this.timer);
    this.timer = 0;
    const socket = new WebSocket(this.address);
    this.socket = socket;
    socket.onopen = () => {
      this.open = true; // `attempt` is reset by whoever is greeted: a server that is full takes nobody in
      this.told(true, 0);
    };
    socket.onmessage = (event) => this.take(event.data);
    socket.onclose = () => {
      this.open = false;
      this.waiting.clear(); // nobody will answer; the page asks again for what it still needs
      const wait = patience(this.attempt++, Math.random());
      this.timer = setTimeout(() => this.connect(), wait);
      this.told(false, wait / 1000);
    };
  }

  /** Try at once, where the next attempt would be later. */
  hurry() {
    if (!this.open && this.timer) this.connect();
  }

  /** Send a request; `hear(answer)` gets each answer. Returns its number, 0 where there is no connection. */
  send(message, hear = () => {}) {
    if (!this.open) return 0;
    const id = ++this.number;
    let asked = { id, ...message };
    try {
      if (message.position) asked = { ...asked, position: inTurns(message.position) };
    } catch ({ message: text }) {
      queueMicrotask(() => hear({ type: "error", text, final: true }));
      return id;
    }
    this.waiting.set(id, hear);
    this.socket.send(JSON.stringify(asked));
    return id;
  }

  /** Ignore further answers to a request. */
  forget(id) {
    this.waiting.delete(id);
  }

  take(text) {
    let answer;
    try {
      answer = JSON.parse(text);
    } catch {
      this.failed("The server sent something that this page does not understand.");
      return;
    }
    const hear = this.waiting.get(answer.id);
    if (answer.final) this.waiting.delete(answer.id);
    if (hear) hear(answer);
    else if (answer.type === "error" && typeof answer.id !== "number") this.failed(answer.text);
  }
}

/** In the place of a connection on a page without a server: never open. */
export class NoConnection {
  constructor() {
    this.open = false;
  }

  send() {
    return 0;
  }

  forget() {}
}
