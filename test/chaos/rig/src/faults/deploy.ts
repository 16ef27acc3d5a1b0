import type { Fault } from '../stage.js';
import { eventually } from '../eventually.js';

export const deploy: Fault = {
  name: 'deploy',
  what: 'A rolling deployment: SIGTERM to one worker after the other, each replaced by a program that has the next version of a saga beside the one before; the application that starts sagas comes last.',
  async inject(stage) {
    // What the new program will not have any more has ended; the rest goes on under its own version.
    await eventually(async () => {
      const { rowCount } = await stage.sagas.query(
        `SELECT FROM saga.instance WHERE name = 'rig-rolling' AND version < $1
         AND status NOT IN ('completed', 'compensated', 'aborted') LIMIT 1`,
        [stage.version],
      );
      return rowCount === 0;
    });
    stage.prepareNextVersion();
    for (const worker of [...stage.workers]) await stage.replace(worker, 'SIGTERM');
    await stage.replaceStarter();
  },
};
