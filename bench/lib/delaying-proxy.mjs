// A TCP proxy that adds latency: each byte arrives half of the delay later, in both directions, in order. Any number of bytes
// may be on their way, so that throughput is not limited. It is a process of its own, so that it does not use the time of the
// event loop that is measured.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { now } from './figures.mjs';

const SELF = fileURLToPath(import.meta.url);
/** ms. Timers of Node are late by up to one: shorter waits sleep in slices of SLICE instead, with a look at the sockets between. */
const TIMER = 1.5;
const SLICE = 0.05;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** What is on its way, of all connections. All of it has the same delay, so it is due in the order in which it came. */
class Road {
  #queue = [];
  #first = 0;
  #moving = false;

  constructor(delay) {
    this.delay = delay;
  }

  /** Runs `arrive` after the delay. */
  send(arrive) {
    if (this.delay === 0) return arrive();
    this.#queue.push({ due: now() + this.delay, arrive });
    if (!this.#moving) this.#move();
  }

  #move = () => {
    for (; this.#first < this.#queue.length && this.#queue[this.#first].due <= now(); this.#first += 1)
      this.#queue[this.#first].arrive();
    if (this.#first > 1_000 || this.#first === this.#queue.length) {
      this.#queue.splice(0, this.#first);
      this.#first = 0;
    }
    this.#moving = this.#queue.length > 0;
    if (!this.#moving) return;
    const left = this.#queue[this.#first].due - now();
    if (left > TIMER) setTimeout(this.#move, left - TIMER);
    else {
      if (left > 0) Atomics.wait(sleeper, 0, 0, Math.min(left, SLICE));
      setImmediate(this.#move);
    }
  };
}

/** Everything from one socket to the other, its end included. */
function relay(from, to, road) {
  from.setNoDelay(true);
  from.on('data', (chunk) => road.send(() => to.write(chunk)));
  from.on('end', () => road.send(() => to.end()));
  from.on('error', () => to.destroy());
  from.on('close', () => road.send(() => to.destroySoon()));
}

/** The proxy's own process. */
async function serve(host, port, delay) {
  const road = new Road(delay / 2);
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ host, port, allowHalfOpen: true });
    relay(near, far, road);
    relay(far, near, road);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.once('disconnect', () => process.exit(0));
  process.send(server.address().port);
}

/**
 * Starts a proxy before the server of a URL.
 * @param delay ms that are added to each round trip, 0 and more
 * @returns { url, close } the same URL through the proxy
 */
export async function delayed(url, delay) {
  const through = new URL(url);
  const { hostname, port } = through;
  const child = fork(SELF, [hostname, port || '5432', String(delay)], { execArgv: [] });
  const ended = once(child, 'exit');
  const [own] = await Promise.race([
    once(child, 'message'),
    ended.then(([code]) => Promise.reject(new Error(`the proxy ended with ${code}`))),
  ]);
  through.hostname = '127.0.0.1';
  through.port = String(own);
  return {
    url: through.toString(),
    async close() {
      child.disconnect();
      await ended;
    },
  };
}

if (process.argv[1] === SELF && process.send) {
  const [host, port, delay] = process.argv.slice(2);
  await serve(host, Number(port), Number(delay));
}
