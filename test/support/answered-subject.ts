import type { StoreSubject } from '../contract/store-subject.contract.js';
import type { Claim, ClaimRequest, SagaStore } from '../../libs/saga/src/engine/ports/saga-store.js';
import { StoreRetry } from '../../libs/saga/src/engine/write/store-retry.js';
import { SagaValidationError } from '../../libs/saga/src/errors.js';
import { systemClock } from '../../libs/saga/src/shared/clock.js';
import { concernsStatement } from '../../libs/saga/src/store/postgres/connection/transient-errors.js';
import { postgresSubject } from '../contract/postgres-subject.contract.js';
import { type Answer, AnsweringProxy } from './answering-proxy.js';
import { NO_CODE } from './outage-runs.js';
import { EachOnce } from './unknown-answers.js';

const SILENT = {
  debug: () => undefined,
  log: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** One of each class of answers that an outage is made of. */
const ANSWERS = [
  ...['08006', '25P03', '28P01', '53300', '55P03', '57P01', '58030', 'XX000'].map((code) => ({ code })),
  ...NO_CODE,
];

/**
 * The second statements of a start. If they fail, the call is repeated, and takes its own saga for one that was there, unless
 * the engine has made its id (`fresh`), which the sagas of the suite do not have.
 */
const AFTER_START = ['existing', 'lockHolders'];

/** What a transaction is answered with when it commits: a deferred trigger may raise all others, which fail the step. */
function answersOf(kind: string): readonly Answer[] {
  if (AFTER_START.includes(kind)) return [];
  return kind === 'COMMIT' ? ANSWERS.filter((answer) => !concernsStatement(answer)) : ANSWERS;
}

/** A store whose statements are answered with errors, each kind once with each, and whose calls are repeated as the engine does. */
export class AnsweredSubject {
  private readonly each = new EachOnce(answersOf);

  /** How often a statement of each kind was answered. */
  get given(): ReadonlyMap<string, number> {
    return this.each.given;
  }

  async open(): Promise<StoreSubject> {
    let proxy: AnsweringProxy | undefined;
    const reachedAt = async (url: string) => (proxy = await AnsweringProxy.before(url)).url;
    const subject = await postgresSubject(undefined, { reachedAt });
    const { store } = subject;
    const retry = new StoreRetry({ store, clock: systemClock, random: () => 0, log: SILENT });
    proxy!.answerTo = this.each.answerTo;
    return {
      ...subject,
      store: claimingOn(repeated(store, retry)),
      graphs: repeated(subject.graphs, retry),
      cleanup: repeated(subject.cleanup, retry),
      close: async () => {
        proxy!.answerTo = () => undefined;
        await subject.close();
        await proxy!.close();
      },
    };
  }
}

/** A claim returns what it has taken when a later round of it fails, and the engine claims the rest at once. */
function claimingOn(store: SagaStore): SagaStore {
  const claim = async (request: ClaimRequest): Promise<Claim> => {
    const first = await store.claim(request);
    if (first.failure === undefined) return first;
    const rest = await claim({ ...request, limit: request.limit - first.sagas.length });
    return { ...rest, sagas: [...first.sagas, ...rest.sagas] };
  };
  return Object.create(store, { claim: { value: claim } }) as SagaStore;
}

/** Repeats the calls of a store, and of its parts, but for those in a transaction of the caller, who repeats them all. */
function repeated<T extends object>(target: T, retry: StoreRetry): T {
  return new Proxy(target, {
    get: (_, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value === 'object' && value !== null) return repeated(value, retry);
      if (typeof value !== 'function') return value;
      if (String(key).endsWith('Within')) return value.bind(target) as unknown;
      return (...args: unknown[]): unknown => {
        const call = () => Reflect.apply(value, target, args) as unknown;
        let first: unknown = call();
        if (!(first instanceof Promise)) return first;
        const made = retry.run(async () => {
          const answer = first ?? call();
          first = undefined;
          return answer;
        });
        return made.catch((error: unknown) => {
          throw error instanceof SagaValidationError && error.cause !== undefined ? error.cause : error;
        });
      };
    },
  });
}
