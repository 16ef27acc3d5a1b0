import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../stage.js';

export const restartImmediate = restart('immediate', 'as if the power had gone');
export const restartFast = restart('fast', 'as an administrator restarts it');

function restart(mode: 'immediate' | 'fast', how: string): Fault {
  return {
    name: `postgres-${mode}`,
    what: `PostgreSQL is stopped (\`pg_ctl stop -m ${mode}\`, ${how}), and comes back within three seconds.`,
    async inject({ server, chance }) {
      await server.halt(mode);
      await sleep(chance.between(0, 3_000));
      await server.resume();
    },
  };
}
