import { Logger } from '@nestjs/common';
import { runDemo, title } from 'demo-support';
import { BROKERS, type Broker } from '../service/environment.js';
import { reconcile, printClaims } from './reconcile.js';
import { untilSettled } from './until-settled.js';
import { SCENARIOS } from './scenarios/all-scenarios.js';
import { DemoEnvironment } from './demo-environment.js';

/** `npm run demo:credit`: plays the scenarios against real processes, and checks at the end that everything adds up. */
async function play(stage: DemoEnvironment): Promise<string[]> {
  console.log('Starting a database server, a broker and three services …');
  await stage.open();
  console.log(`order, customer and payment talk over ${stage.broker.kind}, at ${stage.broker.url}.`);
  for (const [n, scenario] of SCENARIOS.entries()) {
    title(`${n + 1}  ${scenario.title}`);
    await scenario.play(stage);
  }
  title("Does it add up? From the three services' own tables:");
  return printClaims(await untilSettled(() => reconcile(stage)));
}

async function main(): Promise<void> {
  Logger.overrideLogger(['warn', 'error', 'fatal']);
  const broker = (process.env.BROKER || 'mqtt') as Broker;
  if (!BROKERS.includes(broker)) throw new Error(`BROKER is '${broker}'; give one of ${BROKERS.join(', ')}`);
  const stage = new DemoEnvironment({ broker, databaseUrl: process.env.DATABASE_URL });
  await runDemo(stage, play);
}

await main();
