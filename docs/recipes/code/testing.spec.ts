import { SagaFailureMatrixError, SagaTest } from 'nestjs-durable-saga/testing';
import { RecipeApps } from './recipe-apps.js';
import { Bank, BookingModule, BookRoomSaga, Confirmation, Hotel } from './testing.js';

const input = { id: 'b-1', room: 'sea view', cents: 120_00 };

/** A hotel and a bank that remember, and do each request once for its key, as the real ones do. */
class World {
  readonly reserved = new Set<string>();
  readonly paid = new Map<string, number>();

  readonly hotel = {
    reserve: async (_room: string, key: string) => {
      this.reserved.add(key);
      return { reservation: key };
    },
    cancel: async (_reservation: string | undefined, askedUnder: string) => {
      this.reserved.delete(askedUnder);
    },
  };
  readonly bank = {
    charge: async (cents: number, key: string) => {
      this.paid.set(key, cents);
      return { payment: key };
    },
    refund: async (chargedUnder: string) => {
      this.paid.delete(chargedUnder);
    },
  };

  /** The balance of the customer's payments. */
  get balance(): number {
    return [...this.paid.values()].reduce((sum, cents) => sum + cents, 0);
  }
  forget(): void {
    this.reserved.clear();
    this.paid.clear();
  }
}

describe('a booking, without a database and in virtual time', () => {
  const world = new World();
  const booking = SagaTest.of(BookRoomSaga)
    .provide(Hotel, world.hotel)
    .provide(Bank, world.bank)
    .manager({ insert: async () => undefined });
  beforeEach(() => world.forget());

  test('reserves, charges and confirms', async () => {
    const { outcome, trace } = await booking.run(input);
    expect(outcome.status).toBe('completed');
    expect(trace).toEqual(['reserve', 'charge', 'confirm']);
  });

  test('lets the room go when the amount is over the limit', async () => {
    const { outcome } = await booking.run({ ...input, cents: 2_000_00 });
    expect(outcome.failure?.error?.message).toBe('over the limit');
    expect(world.reserved.size).toBe(0);
  });

  test('tries a bank that is down for hours, which takes no time here', async () => {
    const { outcome, took } = await booking.failing('charge', new Error('503'), { times: 3 }).run(input);
    expect(outcome.status).toBe('completed');
    expect(took).toBeGreaterThan(2 * 3_600_000);
  });

  test('is all or nothing in every way in which it can fail', async () => {
    const report = await booking.everyFailure(
      input,
      ({ outcome }) => {
        const isBooked = outcome.status === 'completed';
        expect([world.reserved.size, world.balance]).toEqual(isBooked ? [1, input.cents] : [0, 0]);
      },
      { beforeEach: () => world.forget() },
    );
    expect(report.points.every(({ problem }) => problem === undefined)).toBe(true);
  });
});

describe('a bug in a compensation', () => {
  test('is found by the matrix: the room is let go by a number that got lost', async () => {
    const world = new World();
    const forgetful = {
      ...world.hotel,
      cancel: async (reservation: string | undefined) => {
        if (reservation) world.reserved.delete(reservation);
      },
    };
    const booking = SagaTest.of(BookRoomSaga)
      .provide(Hotel, forgetful)
      .provide(Bank, world.bank)
      .manager({ insert: async () => undefined });
    const error: unknown = await booking
      .everyFailure(
        input,
        ({ outcome }) => expect(world.reserved.size).toBe(outcome.status === 'completed' ? 1 : 0),
        { beforeEach: () => world.forget() },
      )
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SagaFailureMatrixError);
    const wrong = (error as SagaFailureMatrixError).report.points.filter(({ problem }) => problem);
    expect(wrong.map(({ name }) => name)).toEqual(['reserve times out after its side effect']);
  });
});

describe('a booking, on a real database', () => {
  const apps = RecipeApps.onOwnDatabase();

  test('is confirmed by one row, committed with the step', async () => {
    const world = new World();
    const { nest, sagas } = await apps.start({
      ...{ module: { imports: [BookingModule] }, entities: [Confirmation] },
    });
    Object.assign(nest.get(Hotel), world.hotel);
    Object.assign(nest.get(Bank), world.bank);
    const handle = await sagas.start(BookRoomSaga, input, { correlationId: input.id });
    expect((await handle.outcome({ timeout: '10s' })).status).toBe('completed');
    expect(await apps.sql('SELECT * FROM confirmation')).toEqual([
      { booking: 'b-1', reservation: `${handle.id}:reserve` },
    ]);
  });
});
