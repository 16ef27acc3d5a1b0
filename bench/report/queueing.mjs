// A simulation of the queues that sagas pass under load: for a machine with more processors than the figures were measured on.
// It knows no more than the published figures, and is deterministic.
import { Processors, Timeline } from './timeline.mjs';

/** A saga of three steps is stored four times, one after the other. */
const STAGES = 4;
/** As in engine/write/saga-writers.ts. */
const [LANES, LARGEST_BATCH, ITEMS_PER_LANE] = [4, 500, 200];
/** µs of simulated time, of which the first are not counted. */
const [WARM, END] = [300_000, 1_300_000];

/**
 * The costs of a statement and of each saga in it, in µs, of what a saga costs alone in its statements and among many: see
 * `simulatedRate`.
 */
export function costOf(alone, many) {
  const [one, each] = [alone / STAGES, many / STAGES];
  const fixed = Math.max(0, ((one - each) * ITEMS_PER_LANE) / (ITEMS_PER_LANE - 1));
  return { fixed, each: one - fixed };
}

/**
 * A closed loop: each process has so many sagas in flight. A saga alternates between Node, which handles what is ready of its
 * process in one turn; a statement, which takes what has queued up meanwhile; and a flush of the log, which all commits that
 * wait share. Processes and statements take turns on the processors, in the order in which they ask.
 * @param load { processes, processors, inFlight }
 * @param costs in µs: `node` and `server` have { fixed, each } of a batch and of each saga in it; `flush`
 * @returns sagas a second
 */
export function simulatedRate({ processes, processors, inFlight }, { node, server, flush }) {
  const timeline = new Timeline();
  const all = new Processors(timeline, processors);
  let stored = 0;

  let committing = [];
  let isFlushing = false;
  const commit = (then) => {
    committing.push(then);
    if (!isFlushing) flushLog();
  };
  const flushLog = () => {
    const flushed = committing;
    committing = [];
    isFlushing = flushed.length > 0;
    if (isFlushing)
      timeline.after(flush, () => {
        for (const then of flushed) then();
        flushLog();
      });
  };

  for (let n = 0; n < processes; n += 1) startProcess();

  function startProcess() {
    let ready = inFlight;
    let queued = 0;
    let lanes = 0;
    let isRunning = false;
    const turn = () => {
      if (isRunning || ready === 0) return;
      const batch = Math.min(ready, ITEMS_PER_LANE);
      ready -= batch;
      isRunning = true;
      all.work(node.fixed + batch * node.each, () => {
        isRunning = false;
        queued += batch;
        send();
        turn();
      });
    };
    const send = () => {
      while (queued > 0 && lanes < LANES && (lanes === 0 || queued >= ITEMS_PER_LANE)) {
        const batch = Math.min(queued, LARGEST_BATCH);
        queued -= batch;
        lanes += 1;
        all.work(server.fixed + batch * server.each, () => commit(() => answer(batch)));
      }
    };
    const answer = (batch) => {
      if (timeline.now > WARM) stored += batch;
      lanes -= 1;
      ready += batch;
      send();
      turn();
    };
    turn();
  }

  timeline.runUntil(END);
  return (stored / STAGES / (END - WARM)) * 1e6;
}
