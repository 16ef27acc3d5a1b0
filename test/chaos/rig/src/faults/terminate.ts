import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../stage.js';

export const terminate: Fault = {
  name: 'terminate-backend',
  what: '`pg_terminate_backend` on half of all connections at random, ten times within two seconds.',
  async inject({ sagas }) {
    for (let times = 0; times < 10; times += 1) {
      await sagas.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND random() < 0.5`,
      );
      await sleep(200);
    }
  },
};
