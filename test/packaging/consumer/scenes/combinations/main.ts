import 'reflect-metadata';
import * as answers from './answers.js';
import * as clock from './clock.js';
import * as context from './context.js';
import * as daemon from './daemon.js';
import * as declared from './declared.js';
import * as failover from './failover.js';
import * as limits from './limits.js';
import * as people from './people.js';
import * as privacy from './privacy.js';
import * as schemaTools from './schema-tools.js';
import * as simulated from './simulated.js';
import * as waits from './waits.js';

/** Features beside each other, by the packed package alone. Prints what became of each scene. */
async function main(): Promise<void> {
  const scenes = {
    ...{ ...answers, ...clock, ...context, ...daemon, ...declared, ...failover },
    ...{ ...limits, ...people, ...privacy, ...schemaTools, ...simulated, ...waits },
  };
  const outcomes: Record<string, string> = {};
  const only = process.argv.slice(2);
  for (const [name, scene] of Object.entries(scenes)) {
    if (only.length > 0 && !only.includes(name)) continue;
    // One after the other: some measure how long the process stands still.
    outcomes[name] = await scene().then(
      () => 'as documented',
      (error: Error) => error.stack ?? error.message,
    );
  }
  console.log(JSON.stringify(outcomes));
  process.exit(0);
}

void main();
