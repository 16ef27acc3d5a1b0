import { Logger } from '@nestjs/common';
import { runDemo, title } from 'demo-stage';
import { BROKERS, type Broker } from '../service/environment.js';
import { checkBooks, printClaims } from './books.js';
import { atRest } from './at-rest.js';
import { SCENARIOS } from './scenarios/all-scenarios.js';
import { Stage } from './stage.js';

/** `npm run demo:credit`: plays the scenarios against real processes, and checks at the end that everything adds up. */
async function play(stage: Stage): Promise<string[]> {
  console.log('Starting a database server, a broker and three services …');
  await stage.open();
  console.log(`order, customer and payment talk over ${stage.broker.kind}, at ${stage.broker.url}.`);
  for (const [n, scenario] of SCENARIOS.entries()) {
    title(`${n + 1}  ${scenario.title}`);
    await scenario.play(stage);
  }
  title("Does it add up? From the three services' own tables:");
  return printClaims(await atRest(() => checkBooks(stage)));
}

async function main(): Promise<void> {
  Logger.overrideLogger(['warn', 'error', 'fatal']);
  const broker = (process.env.BROKER || 'mqtt') as Broker;
  if (!BROKERS.includes(broker)) throw new Error(`BROKER is '${broker}'; give one of ${BROKERS.join(', ')}`);
  const stage = new Stage({ broker, databaseUrl: process.env.DATABASE_URL });
  await runDemo(stage, play);
}

await main();
