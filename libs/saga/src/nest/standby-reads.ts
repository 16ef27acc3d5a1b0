import type { SagaEngine } from '../engine/saga-engine.js';
import { codedSagaStore } from '../store/coded/coded-saga-store.js';
import { PostgresSagaStore } from '../store/postgres/postgres-saga-store.js';
import type { Dated, Standby } from '../store/postgres/read/standby.js';
import { PostgresRates } from '../store/postgres/read/postgres-rates.js';
import type { ListSagas } from './calls/saga-filter.js';
import type { ResolvedSagaOptions } from './saga.options.js';

type Rates = Pick<PostgresRates, 'sagas' | 'steps'>;

/** Asks for the outcome of sagas over time, on the standby if there is one. */
export type ReadRates = <T>(ask: (rates: Rates) => Promise<T>) => Promise<Dated<T>>;

/** Lists sagas on the standby, or by the engine while the standby cannot be read. */
export function listOnStandby(
  standby: Standby,
  { schema, codec }: ResolvedSagaOptions,
  engine: Pick<SagaEngine, 'find'>,
): ListSagas {
  const store = codedSagaStore(new PostgresSagaStore(standby.sql, schema), codec);
  return (filter) =>
    standby.read(
      () => store.find(filter),
      () => engine.find(filter),
    );
}

/** @param rates of the primary */
export function ratesOn(rates: Rates, standby: Standby | undefined, schema: string): ReadRates {
  if (!standby) return async (ask) => ({ value: await ask(rates) });
  const onStandby = new PostgresRates(standby.sql, schema);
  return (ask) =>
    standby.read(
      () => ask(onStandby),
      () => ask(rates),
    );
}
