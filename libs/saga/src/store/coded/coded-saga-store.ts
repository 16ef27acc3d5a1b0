import type { StoredOperation } from '../../engine/ports/operation.js';
import type { SagaStore, StartResult, UnreadableSaga } from '../../engine/ports/saga-store.js';
import type { StepOfSaga, StepPauseStore, WhoAndWhy } from '../../engine/ports/step-pause.js';
import type { HeldLease, StoredSaga } from '../../engine/ports/stored-saga.js';
import type { StoredSchedule } from '../../engine/ports/stored-schedule.js';
import { SagaCodecError } from '../../errors.js';
import { AS_IT_IS, Coder, isCoded } from './coder.js';
import { convertCheckpoint, convertEdit, convertInTurns, convertSaga } from './convert-saga.js';
import {
  convertCancelled,
  convertLease,
  convertNewSaga,
  convertOperation,
  convertReason,
  convertSchedule,
  convertSignal,
  convertStepPause,
  convertSummary,
  convertWhoAndWhy,
  inputOf,
} from './private-fields.js';
import type { PayloadCodec } from './payload-codec.js';

/**
 * Another store, of which a codec encodes what sagas are given and give. Who uses it never sees that.
 *
 * Nothing is run with what cannot be decoded: a saga that is claimed here, and has something like that, is given back
 * at once, as if it had not been taken, and is due again after the time of a lease, for a process that has the key.
 * Without a codec, what is encoded is shown as it is stored, may be edited around, and is not run.
 */
export function codedSagaStore(store: SagaStore, codec: PayloadCodec | undefined): SagaStore {
  const { encoding, decoding } = new Coder(codec);
  // For those who only look, and for edits.
  const [reading, editing] = codec ? [decoding, encoding] : [AS_IT_IS, AS_IT_IS];
  /** Without a codec, an edit keeps what is encoded in its place. It can neither read nor move it. */
  const readForEdit = (stored: StoredSaga): StoredSaga => {
    if (codec) return convertSaga(stored, decoding);
    const { id: sagaId, signals, operations } = stored;
    const decoded = <T extends object>(value: T, decode: () => T) => refusingCoded(value, decode, sagaId);
    return {
      ...stored,
      signals: signals?.map((one) => decoded(one, () => convertSignal(one, decoding))),
      operations: operations?.map((one) => decoded(one, () => convertOperation(one, decoding, { sagaId }))),
    };
  };
  /** The cancellation counts even if this process cannot decode its reason, which the history has. */
  const withReadableReason = (saga: StoredSaga): StoredSaga => {
    const { id: sagaId, cancelRequested: asked } = saga;
    if (codec || !asked) return saga;
    return { ...saga, cancelRequested: orElse({}, () => convertReason(asked, decoding, { sagaId })) };
  };

  const readStart = (result: StartResult): StartResult => {
    if (result.created || result.existing?.input === undefined) return result;
    const { existing } = result;
    try {
      const input = decoding.json(existing.input!, inputOf, { sagaId: existing.id });
      return { created: false, existing: { ...existing, input } };
    } catch (error) {
      return { created: false, existing: { ...existing, unreadable: asCodecError(error) } };
    }
  };
  /** The lease counts even if its reports cannot be encoded: they are left out, since the next ones may be. */
  const withEncodedReports = (held: HeldLease): HeldLease => {
    if (held.reports === undefined) return held;
    try {
      return convertLease(held, encoding);
    } catch {
      return { id: held.id, epoch: held.epoch };
    }
  };
  const asFarAsReadable = (saga: StoredSaga | UnreadableSaga): StoredSaga | UnreadableSaga => {
    if ('unreadable' in saga) return saga;
    try {
      return convertSaga(saga, reading);
    } catch (error) {
      return { id: saga.id, unreadable: asCodecError(error) };
    }
  };
  const readSchedule = (schedule: StoredSchedule): StoredSchedule =>
    orElse(schedule, () => convertSchedule(schedule, reading));
  /** As far as it can be decoded here: the action counts even if this process cannot decode its reason. */
  const readOperation = (done: StoredOperation, sagaId: string): StoredOperation => {
    const read = (operation: StoredOperation) => convertOperation(operation, reading, { sagaId });
    try {
      return read(done);
    } catch {
      const { given: _, ...told } = done;
      return orElse(told, () => read(told));
    }
  };

  return {
    ...forwarded(store, 'giveBack', 'reserve', 'revisions', 'missing', 'catchUp', 'markOverdue', 'stats'),
    ...forwarded(store, 'isOutage', 'isTransient', 'refuses'),
    stepSlots: store.stepSlots,
    get lastFailoverAt() {
      return store.lastFailoverAt;
    },

    async prepare() {
      await store.prepare?.();
    },

    async start(sagas, lease, durability) {
      const encoded = sagas.map((saga) => convertNewSaga(saga, encoding));
      return (await store.start(encoded, lease, durability)).map(readStart);
    },

    async startWithin(transaction, saga, lease) {
      return readStart(await store.startWithin(transaction, convertNewSaga(saga, encoding), lease));
    },

    async checkpoint(checkpoints, durability) {
      return store.checkpoint(
        checkpoints.map((one) => convertCheckpoint(one, encoding)),
        durability,
      );
    },

    transact: (work, held) =>
      store.transact(async (transaction) => convertCheckpoint(await work(transaction), encoding), held),

    async claim(request) {
      const claim = await store.claim(request);
      const failures: SagaCodecError[] = [];
      const unreadable: StoredSaga[] = [];
      const sagas: StoredSaga[] = [];
      for (const saga of claim.sagas) {
        try {
          sagas.push(await convertInTurns(saga, decoding));
        } catch (error) {
          failures.push(asCodecError(error));
          unreadable.push(saga);
        }
      }
      if (failures.length === 0) return sagas.length === 0 ? claim : { ...claim, sagas };
      const { lease } = request;
      // If it fails, they are due when their lease ends.
      await store.giveBack(unreadable, lease, lease.duration).catch(() => undefined);
      const failure = claim.failure ?? summaryOf(failures);
      // There may be places of a `limit` that they took.
      return { ...claim, sagas, failure, nextDueAt: Math.min(claim.now, claim.nextDueAt ?? Infinity) };
    },

    async renew(leases, lease) {
      const result = await store.renew(leases.map(withEncodedReports), lease);
      if (result.cancelled.length === 0) return result;
      const cancelled = result.cancelled.map((asked) =>
        orElse({ id: asked.id }, () => convertCancelled(asked, decoding, { sagaId: asked.id })),
      );
      return { ...result, cancelled };
    },

    async load(target) {
      const saga = await store.load(target);
      return saga && convertInTurns(withReadableReason(saga), reading);
    },

    // A list is shown, whatever is in it.
    find: async (filter) =>
      (await store.find(filter)).map((row) => orElse(row, () => convertSummary(row, reading))),

    tasks: async (filter) =>
      (await store.tasks(filter)).map((task) => ({
        ...task,
        operations: task.operations?.map((operation) => readOperation(operation, task.id)),
      })),

    async edit(target, change) {
      const edited = await store.edit(target, (stored, now) => {
        const read = readForEdit(stored);
        const edit = change(read, now);
        return edit && convertEdit(edit, { read, stored }, editing);
      });
      return edited && convertSaga(edited, reading);
    },

    async signal(signals, awaited) {
      return store.signal(
        signals.map((signal) => convertSignal(signal, encoding)),
        awaited,
      );
    },

    signalWithin: async (transaction, signal, awaited) =>
      store.signalWithin(transaction, convertSignal(signal, encoding), awaited),

    pendingSignals: async (id) =>
      (await store.pendingSignals(id)).map((signal) => convertSignal(signal, decoding)),

    // Throws for what a parent would be given of them, and cannot be decoded.
    ended: async (ids) => (await store.ended(ids)).map((saga) => convertSaga(saga, decoding)),

    watch: async (ids) => (await store.watch(ids)).map(asFarAsReadable),

    changes: async (watched) =>
      (await store.changes(watched)).map((change) => ({
        ...change,
        saga: change.saga && asFarAsReadable(change.saga),
      })),

    history: async (id, limit) =>
      (await store.history(id, limit)).map((record) =>
        'signal' in record ? record : readOperation(record, id),
      ),

    get pauses(): StepPauseStore {
      const { pauses } = store;
      const encoded = (who: WhoAndWhy, { step }: StepOfSaga) => convertWhoAndWhy(who, encoding, { step });
      return {
        all: async (resumed) => {
          const found = await pauses.all(resumed);
          // A step is paused even if this process cannot decode why.
          const read = found.pauses.map((pause) => orElse(pause, () => convertStepPause(pause, reading)));
          return { ...found, pauses: read };
        },
        pause: (step, who) => pauses.pause(step, encoded(who, step)),
        resume: (step, who) => pauses.resume(step, encoded(who, step)),
        wake: (step) => pauses.wake(step),
      };
    },

    async schedules() {
      const found = await store.schedules();
      return { ...found, schedules: found.schedules.map(readSchedule) };
    },

    async editSchedule(saga, change) {
      const edited = await store.editSchedule(saga, (stored, now) => {
        const read = stored && readSchedule(stored);
        const edit = change(read, now);
        if (!edit) return edit;
        const { start } = edit;
        // What the edit leaves as it is stays as it is stored: an encoding may give another text each time.
        const paused = edit.schedule.paused === read?.paused && stored?.paused;
        const schedule = paused ? { ...edit.schedule, paused } : convertSchedule(edit.schedule, editing);
        return { schedule, ...(start && { start: convertNewSaga(start, encoding) }) };
      });
      if (!edited) return undefined;
      const { schedule, start } = edited;
      return { ...edited, schedule: readSchedule(schedule), ...(start && { start: readStart(start) }) };
    },
  };
}

type Method = {
  [Name in keyof SagaStore]-?: SagaStore[Name] extends (...call: never[]) => unknown ? Name : never;
}[keyof SagaStore];

/** Methods that are given, and return, nothing that is encoded. */
function forwarded<Name extends Method>(store: SagaStore, ...names: readonly Name[]): Pick<SagaStore, Name> {
  const methods = store as unknown as Record<Name, (...call: unknown[]) => unknown>;
  const entries = names.map((name) => [name, (...call: unknown[]) => methods[name](...call)]);
  return Object.fromEntries(entries) as Pick<SagaStore, Name>;
}

/** Returns what can be decoded here, or else something instead: what is shown is shown as it is stored. */
function orElse<T>(instead: T, read: () => T): T {
  try {
    return read();
  } catch {
    return instead;
  }
}

/**
 * Returns a value whose encoded fields cannot be read.
 * @param decode throws for them, because there is no codec
 */
function refusingCoded<T extends object>(value: T, decode: () => T, sagaId: string): T {
  return new Proxy(value, {
    get(of, name) {
      const field: unknown = Reflect.get(of, name);
      if (!isCoded(field, true)) return field;
      try {
        return Reflect.get(decode(), name) as unknown;
      } catch (error) {
        const { message, keyId } = asCodecError(error);
        const how = `${message} Make the call in a process that has it.`;
        throw new SagaCodecError(how, sagaId, keyId, { cause: error });
      }
    },
  });
}

function asCodecError(error: unknown): SagaCodecError {
  if (error instanceof SagaCodecError) return error;
  throw error;
}

/** What the log says of sagas that were claimed and given back. */
function summaryOf([first, ...others]: readonly SagaCodecError[]): SagaCodecError {
  const more = others.length > 0 ? ` (and ${others.length} other saga(s) as well)` : '';
  return new SagaCodecError(
    `${first!.message.replace(/\.$/, '')}${more}. The lease is released for a process that can decode it.`,
    first!.sagaId,
    first!.keyId,
    { cause: first },
  );
}
