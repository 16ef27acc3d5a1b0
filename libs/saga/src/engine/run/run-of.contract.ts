import { randomUUID } from 'node:crypto';
import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { INITIAL } from '../../machine/saga-state.js';
import { AttemptRunner } from '../attempt/attempt-runner.js';
import { systemClock } from '../../shared/clock.js';
import type { Invoker } from '../ports/invoker.js';
import { PermitLead } from './permits.js';
import { SagaObservers } from '../observe/saga-observers.js';
import { SagaRun } from './saga-run.js';
import type { SagaRunPorts } from './saga-run-ports.js';
import type { Checkpoint, StoredSaga } from '../ports/saga-store.js';

type SagaRunArguments = [StoredSaga, SagaGraph, Invoker, SagaRunPorts];

export const SAGA: StoredSaga = {
  id: '01920000-0000-7000-8000-000000000001',
  name: 'test',
  version: 1,
  priority: 0,
  state: INITIAL,
  epoch: 1,
  checkpoints: 0,
  takeovers: 0,
  losses: 0,
  createdAt: 0,
  updatedAt: 0,
  stepTimes: new Map(),
};

export const log = {
  debug: () => undefined,
  log: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Its lease is new, and long, and nobody observes. */
export const CHANCE = {
  ...{ clock: systemClock, random: () => 0, lease: 60_000, renew: async () => undefined },
  hasRoom: () => true,
  permits: new PermitLead(),
  observers: new SagaObservers(log),
};

export const runOf = (...[saga, graph, invoke, ports]: SagaRunArguments) =>
  new SagaRun(saga, graph, invoke, ports, systemClock.monotonic());

/** A run that nothing is asked of from outside. */
export function portsTo(written: Checkpoint[]): SagaRunPorts {
  return {
    attempts: new AttemptRunner({ ...CHANCE, maxPayloadBytes: 1_000, now: () => 0, log }),
    checkpoint: async (checkpoint) => {
      written.push(checkpoint);
      return 'saved';
    },
    store: undefined as never,
    reserve: async () => ({ times: [], now: 0 }),
    now: () => 0,
    maxPayloadBytes: 1_000,
    asked: async () => undefined,
    children: undefined as never,
    unheard: async () => [],
    newId: () => randomUUID(),
    ...CHANCE,
    log,
  };
}

export function gate(): { open(): void; passed: Promise<void> } {
  let open!: () => void;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { open, passed };
}
