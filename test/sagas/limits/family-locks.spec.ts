import { Saga, Step, type StepContext, StepRejectedError, SubSaga } from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
/** Nothing here may be found by polling: what waits has to be woken. */
const NO_POLL = { worker: { pollInterval: '1h' } } as const;

interface Folder {
  owner: string;
  depth: number;
  n: number;
}

/** A saga that starts itself with the same key, as deep as its input says. */
const scene = () => {
  const log: string[] = [];
  const gate = new Gate();
  const note = (what: string, { input }: { input: Folder }) => log.push(`${what} ${input.n}.${input.depth}`);
  @Saga({ name: 'folder', lockKey: ({ input }: { input: Folder }) => input.owner, retry: { attempts: 1 } })
  class FolderSaga {
    @Step({ compensate: 'unlock' }) async begin(ctx: StepContext<Folder>) {
      note('begin', ctx);
      if (ctx.input.depth === 0) await gate.opened;
    }
    unlock(ctx: { input: Folder }) {
      note('undo', ctx);
    }
    @SubSaga(() => FolderSaga, { after: 'begin', when: ({ input }) => (input as Folder).depth > 0 })
    inner({ input }: StepContext<Folder>): Folder {
      return { ...input, depth: input.depth - 1 };
    }
    @Step({ after: 'inner' }) end(ctx: StepContext<Folder>) {
      note('end', ctx);
      if (ctx.input.n < 0 && ctx.input.depth > 0) throw new StepRejectedError('no');
    }
  }
  return { log, gate, FolderSaga };
};

describe('a sub-saga whose key an ancestor holds', () => {
  test('runs under its hold, in two processes, and the next saga of the key starts when the ancestor has ended', async () => {
    const { log, gate, FolderSaga } = scene();
    const { sagas } = await apps.start({ sagas: [FolderSaga], options: NO_POLL });
    await apps.start({ sagas: [FolderSaga], options: NO_POLL });
    const first = await sagas.start(FolderSaga, { owner: 'ann', depth: 2, n: 1 });
    const second = await sagas.start(FolderSaga, { owner: 'ann', depth: 1, n: 2 });
    await until(() => log.includes('begin 1.0'));
    await until(async () => (await sagas.get(second.id)).waitingFor?.kind === 'lock');
    gate.open();
    expect((await first.outcome()).status).toBe('completed');
    expect((await second.outcome()).status).toBe('completed');
    const of = (n: number, depth: number): string[] => [
      `begin ${n}.${depth}`,
      ...(depth > 0 ? of(n, depth - 1) : []),
      `end ${n}.${depth}`,
    ];
    expect(log).toEqual([...of(1, 2), ...of(2, 1)]);
    expect(await apps.sql('SELECT id FROM saga.instance WHERE lock_state IS NOT NULL')).toEqual([]);
  });

  test('is compensated under its hold', async () => {
    const { log, gate, FolderSaga } = scene();
    gate.open();
    const { sagas } = await apps.start({ sagas: [FolderSaga], options: NO_POLL });
    const failing = await sagas.start(FolderSaga, { owner: 'ann', depth: 1, n: -1 });
    const next = await sagas.start(FolderSaga, { owner: 'ann', depth: 0, n: 2 });
    expect((await failing.outcome()).status).toBe('compensated');
    expect((await next.outcome()).status).toBe('completed');
    expect(log).toEqual([
      ...['begin -1.1', 'begin -1.0', 'end -1.0', 'end -1.1', 'undo -1.0', 'undo -1.1'],
      ...['begin 2.0', 'end 2.0'],
    ]);
  });

  test('leaves the key to the next saga when its family is aborted', async () => {
    const { log, FolderSaga } = scene();
    const { sagas, operations } = await apps.start({ sagas: [FolderSaga], options: NO_POLL });
    const first = await sagas.start(FolderSaga, { owner: 'ann', depth: 1, n: 1 });
    const second = await sagas.start(FolderSaga, { owner: 'ann', depth: 1, n: 2 });
    await until(() => log.includes('begin 1.0'));
    await until(async () => (await sagas.get(second.id)).waitingFor?.kind === 'lock');
    await operations.abort(first.id);
    await until(() => log.includes('begin 2.0'));
    expect(log).toEqual(['begin 1.1', 'begin 1.0', 'begin 2.1', 'begin 2.0']);
    await operations.abort(second.id);
    expect(await apps.sql('SELECT id FROM saga.instance WHERE lock_state IS NOT NULL')).toEqual([]);
  });
});

describe('sagas whose sub-sagas wait for each other’s keys', () => {
  interface Booking {
    n: number;
  }

  /** Each holds its own lock and starts the other one, once both are there. */
  const circle = () => {
    const log: string[] = [];
    const arrived = { hotel: new Gate(), flight: new Gate() };
    const note = (what: string) => void log.push(what);
    const isOuter = ({ input }: { input: unknown }) => (input as Booking).n > 0;
    @Saga({ name: 'hotel', lockKey: () => 'the only room', retry: { attempts: 1 } })
    class HotelSaga {
      @Step({ compensate: 'leave' }) async room(ctx: StepContext<Booking>) {
        note(`room ${ctx.input.n}`);
        arrived.hotel.open();
        if (isOuter(ctx)) await arrived.flight.opened;
      }
      leave({ input }: { input: Booking }) {
        note(`leave ${input.n}`);
      }
      @SubSaga(() => FlightSaga, { after: 'room', when: isOuter }) fly(): Booking {
        return { n: 0 };
      }
    }
    @Saga({ name: 'flight', lockKey: () => 'the only seat', retry: { attempts: 1 } })
    class FlightSaga {
      @Step({ compensate: 'giveUp' }) async seat(ctx: StepContext<Booking>) {
        note(`seat ${ctx.input.n}`);
        arrived.flight.open();
        if (isOuter(ctx)) await arrived.hotel.opened;
      }
      giveUp({ input }: { input: Booking }) {
        note(`cancel seat ${input.n}`);
      }
      @SubSaga(() => HotelSaga, { after: 'seat', when: isOuter }) stay(): Booking {
        return { n: 0 };
      }
    }
    return { log, HotelSaga, FlightSaga };
  };

  test('are found: one of them fails with SAGA_LOCK_DEADLOCK, which names the holders, and the other completes', async () => {
    const { log, HotelSaga, FlightSaga } = circle();
    const { sagas } = await apps.start({ sagas: [HotelSaga, FlightSaga], options: NO_POLL });
    await apps.start({ sagas: [HotelSaga, FlightSaga], options: NO_POLL });
    const hotel = await sagas.start(HotelSaga, { n: 1 });
    const flight = await sagas.start(FlightSaga, { n: 2 });
    const outcomes = await Promise.all([hotel.outcome(), flight.outcome()]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['compensated', 'completed']);
    const failed = outcomes.find(({ status }) => status === 'compensated')!;
    const [holder, held] = failed.id === flight.id ? [hotel, flight] : [flight, hotel];
    const { error } = failed.failure!;
    expect(error).toMatchObject({
      name: 'SubSagaFailedError',
      cause: { name: 'SagaLockDeadlockError', code: 'SAGA_LOCK_DEADLOCK' },
    });
    const { message } = error!.cause!;
    for (const named of [holder.id, held.id, "'the only room'", "'the only seat'", '(hotel)', '(flight)'])
      expect(message).toContain(named);
    const ended = failed.id === flight.id ? 'cancel seat 2' : 'leave 1';
    expect(log).toContain(ended);
    expect(log.filter((entry) => /^(leave|cancel seat)/.test(entry))).toEqual([ended]);
    expect(await apps.sql('SELECT id FROM saga.instance WHERE lock_state IS NOT NULL')).toEqual([]);
  });
});
