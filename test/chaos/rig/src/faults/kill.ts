import type { Fault } from '../stage.js';

export const kill: Fault = {
  name: 'kill',
  what: 'SIGKILL to a worker; another takes its place.',
  inject: (stage) => stage.replace(stage.oneWorker, 'SIGKILL'),
};
