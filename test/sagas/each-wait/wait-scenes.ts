import type { Type } from '@nestjs/common';
import {
  Approval,
  type HandlerContext,
  RemoteStep,
  Saga,
  type SagaOperations,
  type SagaService,
  Step,
  type StepContext,
  StepHandler,
  StepRejectedError,
  SubSaga,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import type { SagaTarget } from '../../../libs/saga/src/nest/calls/saga-calls.js';
import type { StartOptions } from '../../../libs/saga/src/nest/calls/start-options.js';
import type { WaitName } from '../../../libs/saga/src/nest/views/waiting-for.js';
import { lastCheckpointOf, newSaga } from '../../contract/store-subject.contract.js';
import type { SagaStore } from '../../../libs/saga/src/engine/ports/saga-store.js';
import { aborted } from '../../support/gate.js';
import { BLOCKER } from './wait-world.js';

export const HOUR = 3_600_000;

/** How often the waiting steps of a saga have run, by its id. */
export const ran = new Map<string, number>();

function runs({ sagaId, attempt }: Pick<StepContext, 'sagaId' | 'attempt'>): number {
  ran.set(sagaId, (ran.get(sagaId) ?? 0) + 1);
  return attempt;
}

@Saga({ name: 'start-time', timeout: '9h' })
class StartTimeSaga {
  @Step() first(ctx: StepContext) {
    runs(ctx);
  }
}
@Saga({ name: 'step-delay' })
class StepDelaySaga {
  @Step({ delay: '1h' }) first(ctx: StepContext) {
    runs(ctx);
  }
}
const LATER = { attempts: 3, delay: '1h', backoff: 'fixed', jitter: 0 } as const;
@Saga({ name: 'retry' })
class RetrySaga {
  @Step({ retry: LATER }) first(ctx: StepContext) {
    if (runs(ctx) === 1) throw new Error('not yet');
  }
}
@Saga({ name: 'saga-rate', rateLimit: { count: 1, per: '1h' } })
class SagaRateSaga {
  @Step() first(ctx: StepContext) {
    runs(ctx);
  }
}
@Saga({ name: 'step-rate' })
class StepRateSaga {
  @Step({ rateLimit: { count: 1, per: '1h' } }) first(ctx: StepContext) {
    runs(ctx);
  }
}
@Saga({ name: 'saga-slot', limit: 1 })
class SagaSlotSaga {
  @Step() first(ctx: StepContext) {
    runs(ctx);
  }
}
@Saga({ name: 'step-slot' })
class StepSlotSaga {
  @Step({ limit: { count: 1 } }) first(ctx: StepContext) {
    runs(ctx);
  }
}
@Saga({ name: 'lock', lockKey: () => 'key' })
class LockSaga {
  @Step() first(ctx: StepContext) {
    runs(ctx);
  }
}
@Saga({ name: 'signal' })
class SignalSaga {
  @WaitFor({ signal: 'go', timeout: '9h' }) first(ctx: StepContext) {
    runs(ctx);
  }
}
@Saga({ name: 'approval' })
class ApprovalSaga {
  @Approval({ quorum: 2, timeout: '9h' }) first(ctx: StepContext) {
    runs(ctx);
  }
}
@Saga({ name: 'child' })
class ChildSaga {
  @WaitFor({ signal: 'go' }) inside() {}
}
@Saga({ name: 'sub-saga' })
class ParentSaga {
  @SubSaga(() => ChildSaga) first() {}
}
class Handler {
  @StepHandler('slow', { retry: LATER }) slow(ctx: HandlerContext) {
    if (ctx.attempt === 1) throw new Error('not yet');
  }
}
@Saga({ name: 'remote-step' })
class RemoteSaga {
  @RemoteStep('slow') first() {}
}
@Saga({ name: 'remote-handler' })
class UnhandledSaga {
  @RemoteStep('nobody') first() {}
}
@Saga({ name: 'reply', compensationRetry: LATER })
class ReplySaga {
  @Step({ compensate: 'giveBack', compensationReply: { signal: 'go', timeout: '9h' } }) first() {}
  giveBack() {}
  @Step() fails() {
    throw new StepRejectedError('no');
  }
}
@Saga({ name: 'paused-step' })
class PausedStepSaga {
  @Step() first(ctx: StepContext) {
    runs(ctx);
  }
}
@Saga({ name: 'paused-saga' })
class PausedSaga {
  @WaitFor({ signal: 'go' }) first(ctx: StepContext) {
    runs(ctx);
  }
}
@Saga({ name: 'suspended', onFailure: 'suspend' })
class SuspendedSaga {
  @Step({ retry: { attempts: 1 } }) first(ctx: StepContext) {
    if (runs(ctx) === 1) throw new Error('an operator has to look');
  }
}
@Saga({ name: 'pivot' })
class PivotSaga {
  @Step({ idempotent: false, pivot: true, timeout: 30 }) async first(ctx: StepContext) {
    // Its outcome is not known.
    if (runs(ctx) === 1) await aborted(ctx.signal);
  }
}

export const PROVIDERS: readonly Type[] = [
  ...[StartTimeSaga, StepDelaySaga, RetrySaga, SagaRateSaga, StepRateSaga, SagaSlotSaga, StepSlotSaga],
  ...[LockSaga, SignalSaga, ApprovalSaga, ChildSaga, ParentSaga, Handler, RemoteSaga, UnhandledSaga],
  ...[ReplySaga, PausedStepSaga, PausedSaga, SuspendedSaga, PivotSaga],
];

/** The services of a process. */
export interface Services {
  readonly service: SagaService;
  readonly operations: SagaOperations;
}

/** The calls of a service that act on one saga. */
type CallsOf<Service> = {
  [Name in keyof Service]: Service[Name] extends (target: SagaTarget, ...rest: never) => Promise<void>
    ? Name
    : never;
}[keyof Service];
type SagaCall = CallsOf<SagaService> | CallsOf<SagaOperations>;

/** What may be done to a saga that waits. A call that is added to a service does not compile until it is named. */
export const CALLS = {
  cancel: ({ service }, id) => service.cancel(id),
  abort: ({ operations }, id) => operations.abort(id),
  undo: ({ operations }, id) => operations.undo(id),
  pause: ({ operations }, id) => operations.pause(id),
  resume: ({ operations }, id) => operations.resume(id),
  retry: ({ operations }, id) => operations.retry(id),
  retryNow: ({ operations }, id) => operations.retryNow(id),
  resolve: ({ operations }, id) => operations.resolve(id, 'first', { by: 'ann', force: true }),
  abandon: ({ operations }, id) => operations.abandon(id, 'first', { force: true }),
  reschedule: ({ operations }, id) => operations.reschedule(id, 'first', '5h'),
  signal: ({ service }, id) => service.signal(id, 'go'),
  approve: ({ service }, id) => service.approve(id, 'first', { by: 'ann' }),
  reject: ({ service }, id) => service.reject(id, 'first', { by: 'ann' }),
} satisfies Record<SagaCall, (services: Services, id: string) => Promise<void>>;
export type Call = keyof typeof CALLS;

/**
 * What a call comes to. `same`: the saga waits as before. `refused`: so it does, and the call throws. `moved`: it waits until
 * another time. `paused`: it is paused, and waits as before once it is resumed. `later`: the call takes effect, but nothing
 * shows that before the wait is over. Otherwise the saga has ended.
 */
export type Outcome =
  | 'same'
  | 'refused'
  | 'moved'
  | 'paused'
  | 'later'
  | 'completed'
  | 'compensated'
  | 'aborted';

/** How a saga waits, what ends that, and what operators' calls come to meanwhile. */
export interface Scene {
  /** The name of its saga. */
  readonly saga: string;
  readonly options?: StartOptions;
  /** Takes what it is to wait for, before it starts. The result gives it back. */
  readonly take?: (store: SagaStore) => Promise<() => Promise<void>>;
  /** Makes it wait, once it was started and is idle. */
  readonly begin?: (services: Services, id: string) => Promise<void>;
  /** Ends the wait. Default: what was taken is given back, or time passes. */
  readonly end?: (services: Services, id: string) => Promise<void>;
  /** The status of the saga then. Default: completed. */
  readonly ends?: 'compensated' | 'aborted';
  /** Its row is due while it waits. */
  readonly isDue?: true;
  /** How often its step has run when it waits. Default: never. */
  readonly hasRun?: 1;
  readonly after: Readonly<Record<Call, Outcome>>;
  /** The signal by which a filter finds it. Default: it waits for none, or for an operator's decision. */
  readonly awaits?: 'go';
  /** What an operator has paused. Default: nothing. */
  readonly isPaused?: 'saga' | 'step';
}

/** A saga of the same name that another worker runs. */
const takeSlot =
  (saga: string, given: { lockKey?: string; maxLeases?: number }) => async (store: SagaStore) => {
    const { lockKey, maxLeases } = given;
    const blocker = newSaga({ name: saga, lockKey });
    await store.start([blocker], BLOCKER);
    await store.claim({ lease: BLOCKER, sagas: [{ name: saga, version: 1, maxLeases }], limit: 1 });
    const held = (await store.load({ id: blocker.id }))!;
    const limit = { saga, step: 'first', count: 1 };
    const holder = { id: held.id, epoch: held.epoch, turn: 1 };
    if (saga === 'step-slot') await store.stepSlots.take(limit, holder, ['first']);
    return async () => {
      const lock = held.lock && { name: saga, key: held.lock.key };
      expect(await store.checkpoint([{ ...lastCheckpointOf(held), lock }])).toEqual(['saved']);
      if (saga === 'step-slot') await store.stepSlots.free(limit, holder, ['first']);
    };
  };

const takeRate = (saga: string, step: string) => async (store: SagaStore) => {
  await store.reserve({ saga, step, count: 1, per: HOUR }, 1);
  return async () => {};
};

const go = ({ service }: Pick<Services, 'service'>, id: string) => service.signal(id, 'go');

/** A saga that is due needs a worker, and remembers nothing that an operation could lose. */
type Due = 'due';

/** What the calls come to for a saga that has done nothing yet. */
const UNBEGUN = {
  ...{ cancel: 'compensated', abort: 'aborted', undo: 'refused', pause: 'paused', resume: 'refused' },
  ...{ retry: 'refused', retryNow: 'refused', resolve: 'completed' },
  ...{ abandon: 'refused', reschedule: 'refused', signal: 'refused' },
  ...{ approve: 'refused', reject: 'refused' },
} as const satisfies Record<Call, Outcome>;

/** Each kind of wait, and how a saga comes to wait like that. A kind that is added does not compile without its scenes. */
export const SCENES: Readonly<Record<WaitName, readonly Scene[] | Due>> = {
  'start time': [{ saga: 'start-time', options: { delay: '1h' }, after: UNBEGUN }],
  'step delay': [{ saga: 'step-delay', after: { ...UNBEGUN, reschedule: 'moved' } }],
  retry: [{ saga: 'retry', hasRun: 1, after: { ...UNBEGUN, retryNow: 'completed', reschedule: 'moved' } }],
  'rate limit of the saga': [{ saga: 'saga-rate', take: takeRate('saga-rate', ''), after: UNBEGUN }],
  'rate limit of a step': [{ saga: 'step-rate', take: takeRate('step-rate', 'first'), after: UNBEGUN }],
  'saga slot': [
    {
      ...{ saga: 'saga-slot', take: takeSlot('saga-slot', { maxLeases: 1 }), isDue: true },
      after: UNBEGUN,
    },
  ],
  'step slot': [{ saga: 'step-slot', take: takeSlot('step-slot', {}), after: UNBEGUN }],
  lock: [{ saga: 'lock', take: takeSlot('lock', { lockKey: 'key' }), after: UNBEGUN }],
  signal: [
    {
      saga: 'signal',
      awaits: 'go',
      end: go,
      after: { ...UNBEGUN, reschedule: 'moved', signal: 'completed' },
    },
  ],
  approval: [
    {
      saga: 'approval',
      end: async ({ service }, id) => {
        await service.approve(id, 'first', { by: 'bob' });
        await service.approve(id, 'first', { by: 'cleo' }).catch(() => undefined);
      },
      after: {
        ...{ ...UNBEGUN, resolve: 'same', reschedule: 'moved', approve: 'same' },
        reject: 'compensated',
      },
    },
  ],
  'sub-saga': [
    {
      saga: 'sub-saga',
      end: async ({ service }, id) => {
        const { steps } = await service.get(id);
        await go({ service }, steps[0]!.child!);
      },
      after: { ...UNBEGUN, resolve: 'refused' },
    },
  ],
  'remote step': [{ saga: 'remote-step', after: { ...UNBEGUN, resolve: 'refused' } }],
  'remote handler': [
    {
      ...{ saga: 'remote-handler', end: ({ operations }, id) => operations.abort(id), ends: 'aborted' },
      after: { ...UNBEGUN, resolve: 'refused' },
    },
  ],
  'compensation reply': [
    {
      ...{ saga: 'reply', awaits: 'go', end: go, ends: 'compensated' },
      after: {
        ...UNBEGUN,
        ...{ cancel: 'same', resolve: 'compensated', reschedule: 'moved', signal: 'compensated' },
        abandon: 'moved',
      },
    },
  ],
  'paused step': [
    {
      saga: 'paused-step',
      take: async (store) => {
        await store.pauses.pause({ saga: 'paused-step', step: 'first' }, { by: 'ann' });
        return async () => {};
      },
      end: ({ operations }) => operations.resumeStep('paused-step', 'first'),
      after: UNBEGUN,
      isPaused: 'step',
    },
  ],
  'paused saga': [
    {
      saga: 'paused-saga',
      awaits: 'go',
      begin: ({ operations }, id) => operations.pause(id),
      end: async ({ service, operations }, id) => {
        await service.signal(id, 'go');
        // A failover may have lost its pause.
        await operations.resume(id).catch(() => undefined);
      },
      after: {
        ...{ ...UNBEGUN, resolve: 'refused', reschedule: 'same', signal: 'same' },
        ...{ pause: 'same', resume: 'later' },
      },
      isPaused: 'saga',
    },
  ],
  attention: [
    {
      ...{
        saga: 'suspended',
        hasRun: 1,
        end: ({ operations }: Services, id: string) => operations.retry(id),
      },
      after: {
        ...UNBEGUN,
        retry: 'completed',
        pause: 'refused',
      },
    },
    {
      ...{
        saga: 'pivot',
        hasRun: 1,
        end: ({ operations }: Services, id: string) => operations.resolve(id, 'first'),
      },
      // Nothing is compensated before an operator has said what became of the pivot.
      after: {
        ...UNBEGUN,
        cancel: 'later',
        retry: 'completed',
        pause: 'refused',
      },
    },
  ],
  worker: 'due',
  version: 'due',
  'given back': 'due',
};
