import { Logger } from '@nestjs/common';
import { paint, title } from 'demo-stage';
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
  let interrupted = false;
  const interrupt = (code: number): void => {
    interrupted = true;
    void stage.close().finally(() => process.exit(code));
  };
  process.on('SIGINT', () => interrupt(130));
  process.on('SIGTERM', () => interrupt(143));
  process.on('SIGHUP', () => interrupt(129));
  const startedAt = Date.now();
  let problems: string[];
  try {
    problems = await play(stage);
  } catch (error) {
    if (interrupted) return;
    problems = [(error as Error).message];
    for (const { lastWords } of stage.processes) console.error(paint('dim', `\nLast words of ${lastWords}`));
  }
  await stage.close();
  if (problems.length > 0) {
    console.error(paint('red', `\nThe demo FAILED:\n  ${problems.join('\n  ')}`));
    process.exit(1);
  }
  console.log(paint('green', `\nEvery claim holds (${((Date.now() - startedAt) / 1_000).toFixed(1)} s).`));
  process.exit(0);
}

await main();
