/* The script of the worker: it searches in slices, so that the page can stop it or ask for something else. */

import { Thinker } from "./thinker.mjs";

const SLICE = 40; // milliseconds
const channel = new MessageChannel(); // a timer would wait four milliseconds between two slices
let thinker = null;
let running = null; // {id, steps}

const answer = (id, content) => postMessage({ id, ...content });

/** Nobody waits any more for what is under way. */
function stop() {
  if (running) answer(running.id, { type: "stopped", final: true });
  running = null;
}

function work() {
  const end = performance.now() + SLICE;
  while (running && performance.now() < end) {
    const { id, steps } = running;
    try {
      const { value, done } = steps.next();
      if (value) answer(id, value);
      if (done || value?.final) running = null;
    } catch (error) {
      running = null;
      answer(id, { type: "error", text: error.message, final: true });
    }
  }
  if (running) channel.port2.postMessage("");
}

channel.port1.onmessage = work;
onmessage = ({ data }) => {
  if (data.do === "begin") {
    thinker = new Thinker(data.network);
    thinker.network.prepare(data.size);
    answer(data.id, { type: "begin", problem: thinker.network.problem, final: true });
    return;
  }
  if (data.do === "hurry") {
    thinker.hurry();
    answer(data.id, { type: "hurried", final: true });
    return;
  }
  const idle = !running;
  stop();
  if (data.do === "stop") {
    answer(data.id, { type: "stopped", final: true });
    return;
  }
  try {
    running = { id: data.id, steps: thinker.answers(data) };
  } catch (error) {
    answer(data.id, { type: "error", text: error.message, final: true });
  }
  if (idle) channel.port2.postMessage("");
};
