import { setTimeout as sleep } from 'node:timers/promises';
import { type Ingress, Opts, SendOpts } from '@restatedev/restate-sdk-clients';
import {
  type MemoryRow,
  MemorySagaStore,
  requireStorable,
  type StoreStats,
  type StoredStepPause,
  type StoreTarget,
} from 'nestjs-durable-saga/internal/backend';
import {
  type ChangeCall,
  type ChangeMethod,
  CORRELATION,
  correlationKey,
  MESSAGES,
  SAGA,
} from './contracts.js';
import type { KeptSaga } from './kept-saga.js';
import { AdminError, request } from './restate-errors.js';
import { fromText } from './stored-text.js';

export interface CallOptions {
  readonly ingress: Ingress;
  /** The address of the admin API. */
  readonly admin: string;
  /** The worker of this process. */
  readonly worker: string;
  /** How long (ms) an answer may take. */
  readonly patience: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** How often, and how many ms apart, a claim is given back whose answer did not come. */
const UNCLAIMS = 10;
const UNCLAIMED_AGAIN = 500;
/** How long (ms) the offers of a process that ends may take. */
const OFFERED_WITHIN = 1_000;
/** How long (ms) a query waits that could not be answered. */
const QUERIED_AGAIN = 50;

/** Calls of the objects of sagas over the ingress. */
export class RestateCalls {
  constructor(readonly options: CallOptions) {}

  get caller(): { readonly now: number; readonly worker: string } {
    return { now: this.options.now(), worker: this.options.worker };
  }

  /** Ends a call that takes too long. It may have been made. */
  get opts(): Opts<never, never> {
    return this.optsOf();
  }

  /** @param name of the call: when it is repeated while it is in progress, or soon after, it is not made again */
  optsOf(name?: string): Opts<never, never> {
    return Opts.from({
      timeout: this.options.patience,
      ...(name !== undefined && { idempotencyKey: name }),
    });
  }

  /** Ends a call that takes too long to be accepted. Its answer is not waited for. */
  get sendOpts(): SendOpts<never> {
    return SendOpts.from({ timeout: this.options.patience });
  }

  /** Changes a saga by a method of the store. @param name see `optsOf`. Undefined: the saga has another revision, or no slot. */
  async change<T>(
    id: string,
    method: ChangeMethod,
    args: readonly unknown[],
    only: Partial<Pick<ChangeCall, 'revision' | 'graphs' | 'now' | 'slot' | 'claim'>> = {},
    name?: string,
  ): Promise<{ readonly result: T } | undefined> {
    requireStorable(args, method);
    const call = { method, args, ...this.caller, ...only };
    const answer = await this.options.ingress.client(SAGA, id).change(call, this.optsOf(name));
    return answer && { result: answer.result as T };
  }

  /** Has other processes offered these sagas, if they are due: a process that ends does not wait long for it. */
  async offer(ids: readonly string[]): Promise<void> {
    const { ingress, now, patience } = this.options;
    const opts = SendOpts.from<never>({ timeout: Math.min(OFFERED_WITHIN, patience) });
    const offers = ids.map((id) => ingress.sendClient(SAGA, id).offer({ now: now() }, opts));
    // What is not offered now is offered later.
    await Promise.allSettled(offers);
  }

  /** Gives back what a claim may have taken whose answer did not come. If that fails as well, its lease runs out. */
  async unclaim(id: string, claim: string): Promise<void> {
    const { ingress, now } = this.options;
    for (let tries = 0; tries < UNCLAIMS; tries += 1) {
      const sent = ingress.sendClient(SAGA, id).unclaim({ claim, now: now() }, this.sendOpts);
      if (await sent.then(Boolean, () => false)) return;
      await sleep(UNCLAIMED_AGAIN, undefined, { ref: false });
    }
  }

  read(id: string): Promise<KeptSaga | undefined> {
    return this.options.ingress.client(SAGA, id).read(this.opts);
  }

  /** These sagas, as far as they exist, in a store in memory: a copy of what is stored. */
  async among(ids: readonly string[]): Promise<MemorySagaStore> {
    const kept = await Promise.all([...new Set(ids)].map((id) => this.read(id)));
    return this.storeOf(kept.flatMap((one) => one?.row ?? []));
  }

  /** All sagas in such a store: see `scan`. */
  async amongAll(): Promise<MemorySagaStore> {
    return this.storeOf(await this.scan());
  }

  storeOf(rows: readonly MemoryRow[], pauses: readonly StoredStepPause[] = []): MemorySagaStore {
    return new MemorySagaStore({ now: this.options.now, rows, pauses });
  }

  /** The id of a saga. Undefined: there is none. */
  async idOf(target: StoreTarget): Promise<string | undefined> {
    if ('id' in target) return target.id;
    const { name, correlationId } = target;
    const key = correlationKey(name, correlationId);
    const id = await this.options.ingress.client(CORRELATION, key).read(this.opts);
    if (id !== undefined) return id;
    // A saga that was given no correlation id has its own id for one.
    const own = await this.read(correlationId);
    return own?.row.saga.name === name && own.row.saga.correlationId === undefined
      ? correlationId
      : undefined;
  }

  /** All sagas. Restate reads the state of all of them for it. */
  async scan(): Promise<MemoryRow[]> {
    const query = "SELECT value_utf8 FROM state WHERE service_name = 'DurableSaga' AND key = 'saga'";
    const rows = await this.query<{ value_utf8: string }>(query);
    return rows.map((row) => (fromText(row.value_utf8) as KeptSaga).row);
  }

  /** The keys of all objects of a service that have a state, or this part of it. */
  async keysOf(service: string, part?: string): Promise<string[]> {
    const of = part === undefined ? '' : ` AND key = '${part}'`;
    const query = `SELECT DISTINCT service_key FROM state WHERE service_name = '${service}'${of} ORDER BY service_key`;
    return (await this.query<{ service_key: string }>(query)).map((row) => row.service_key);
  }

  /** The messages that are not sent yet. */
  async unsent(): Promise<Pick<StoreStats, 'messages' | 'oldestMessage'>> {
    const query =
      `SELECT count(*) AS messages, min(created_at) AS oldest FROM sys_invocation ` +
      `WHERE target_service_name = '${MESSAGES.name}' AND status <> 'completed'`;
    const [row] = await this.query<{ messages: number; oldest: string | null }>(query);
    const { messages, oldest } = row!;
    return { messages, ...(oldest && { oldestMessage: Date.parse(oldest) }) };
  }

  /** Asks again while the server is not able to answer: after its start, for example, or while partitions move. */
  private async query<T>(query: string): Promise<T[]> {
    const until = performance.now() + this.options.patience;
    for (;;) {
      const response = await request(new URL('/query', this.options.admin), {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify({ query }),
        signal: AbortSignal.timeout(this.options.patience),
      });
      if (response.ok) return ((await response.json()) as { rows: T[] }).rows;
      const error = new AdminError(response.status, await response.text());
      if (response.status < 500 || performance.now() > until) throw error;
      await sleep(QUERIED_AGAIN);
    }
  }
}
