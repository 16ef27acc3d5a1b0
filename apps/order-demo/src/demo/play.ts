import { runDemo, title } from 'demo-support';
import { readArguments, readEnvironment } from '../environment.js';
import { DASHBOARD_PATH } from '../http/dashboard-path.js';
import { reconcile, readStock } from './reconcile.js';
import type { Ending, Scenario } from './scenario.js';
import { completedOrder } from './scenarios/completed-order.js';
import { declinedCard } from './scenarios/declined-card.js';
import { killedNode } from './scenarios/killed-node.js';
import { killedWorker } from './scenarios/killed-worker.js';
import { shippingDown } from './scenarios/shipping-down.js';
import { stuckRefund } from './scenarios/stuck-refund.js';
import { LEASE, DemoEnvironment } from './demo-environment.js';

const SCENARIOS: readonly Scenario[] = [
  completedOrder,
  declinedCard,
  shippingDown,
  killedWorker,
  stuckRefund,
];

/** `npm run demo`: plays the scenarios against real processes, and checks at the end that everything adds up. */
async function play(stage: DemoEnvironment): Promise<string[]> {
  readArguments();
  const { orm, engine, nodes } = readEnvironment();
  const restate = nodes > 1 ? `${nodes} nodes of Restate` : 'Restate';
  const servers = engine === 'restate' ? `a database, ${restate}` : 'a database';
  console.log(`Starting ${servers}, the API and two workers, with ${orm} …`);
  await stage.open();
  const workers = stage.workers.map(({ name, pid }) => `${name} (process ${pid})`).join(' and ');
  console.log(`The API is at ${stage.url}; ${workers} run its sagas, with a lease of ${LEASE}.`);
  console.log(`Its sagas, for operators, while this runs: ${stage.url}/${DASHBOARD_PATH}`);
  const before = await readStock(stage.database);
  const endings: Ending[] = [];
  const scenarios = nodes > 1 ? [...SCENARIOS, killedNode] : SCENARIOS;
  for (const [n, scenario] of scenarios.entries()) {
    title(`${n + 1}  ${scenario.title}`);
    endings.push(await scenario.play(stage));
  }
  title("Does it add up? From the participants' own tables, without a look at the sagas:");
  return reconcile(stage.database, endings, before);
}

await runDemo(new DemoEnvironment(), play);
