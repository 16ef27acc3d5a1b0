// A simulation of a Restate cluster under load: for more nodes and processors than were measured. It knows no more than the
// figures of docs/restate.md, and is deterministic.
import { number, table } from './format.mjs';
import { Processors, Timeline } from './timeline.mjs';

/** The calls of a saga of three steps, one after the other: its start, a checkpoint of each step, and a look at its lease. */
const CALLS = 5;
/** As Restate has by default. */
const PARTITIONS = 24;
/** µs of simulated time, of which the first are not counted. */
const [WARM, END] = [8_000_000, 20_000_000];
const CLUSTERS = [1, 3, 6, 12];
/** Processors of each node. */
const PROCESSORS = [2, 4];
const IN_FLIGHT = 200;

/**
 * A closed loop of sagas. Each belongs to a partition, which has a leader among the nodes, and a copy on the next one. A call takes
 * time on both, one after the other. Processors serve in the order in which they are asked.
 * @param load { nodes, processors } of each node. `onOneMachine`: all nodes, and Node, share the processors of one
 * @param costs in µs of CPU of a saga: `leader`; `copy`, with more than one node; `node`, if Node shares the machine
 * @returns sagas a second
 */
export function simulatedClusterRate({ nodes, processors, onOneMachine = false }, { leader, copy, node }) {
  const timeline = new Timeline();
  const machines = Array.from(
    { length: onOneMachine ? 1 : nodes },
    () => new Processors(timeline, processors),
  );
  const machineOf = (place) => machines[place % machines.length];
  let started = 0;
  let ended = 0;

  const start = () => {
    const partition = started % PARTITIONS;
    started += 1;
    call(partition, CALLS);
  };
  const call = (partition, left) => {
    if (left === 0) {
      if (timeline.now > WARM) ended += 1;
      return start();
    }
    const then = () => call(partition, left - 1);
    const copied = nodes === 1 ? then : () => machineOf(partition + 1).work(copy / CALLS, then);
    const led = () => machineOf(partition).work(leader / CALLS, copied);
    if (onOneMachine) machineOf(partition).work(node / CALLS, led);
    else led();
  };
  for (let n = 0; n < IN_FLIGHT; n += 1) start();
  timeline.runUntil(END);
  return (ended / (END - WARM)) * 1e6;
}

/** ms of a row of the page's table, in the middle of what was measured. */
function costsOf(page, label) {
  const cells = page
    .match(new RegExp(`^\\| ${label} +\\|.*$`, 'm'))[0]
    .split('|')
    .slice(2);
  const middle = (cell) => {
    const [least, most = least] = cell.split(' to ').map(Number);
    return (least + most) / 2;
  };
  const [, node, server] = cells.map(middle);
  return { node: node * 1_000, server: server * 1_000 };
}

/** @param page docs/restate.md, which has the figures */
export function growthSections(page) {
  const [one, three] = ['this library, one node', 'this library, three nodes'].map((label) =>
    costsOf(page, label),
  );
  const costs = { leader: one.server, copy: three.server - one.server, node: three.node };
  const measured = (nodes, node) =>
    number(simulatedClusterRate({ nodes, processors: 2, onOneMachine: true }, { ...costs, node }));
  const growth = table(
    ['nodes', ...PROCESSORS.map((processors) => `${processors} processors each`)],
    CLUSTERS.map((nodes) => [
      number(nodes),
      ...PROCESSORS.map((processors) => number(simulatedClusterRate({ nodes, processors }, costs))),
    ]),
  );
  const check = `On the machine of the table above it gives ${measured(1, one.node)} with one node, and ${measured(3, three.node)} with three.`;
  return { growth: `${growth}\n\n${check}` };
}
